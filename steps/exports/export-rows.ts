import type { Knex } from 'knex';
import type { Family } from '../../src/core/exports/atif.js';
import { addSkipped, type ExportRequest, type Skipped, type SkipReason } from '../../src/core/exports/export.js';
import {
  type ExportedRun,
  type ExportRow,
  exportRows,
  isWanted,
  type RowFormat,
} from '../../src/core/exports/export-row.js';
import { type Attempt, type AttemptWorth, attemptOf, choosePairs, pairRow } from '../../src/core/exports/preference.js';
import { type Exported, readExported } from './read-exported.js';
import { redactThen } from './redact-run.js';

/** Rows that belong together, and the runs that they were made of. */
export interface MadeRows {
  /** The task, which decides the split. */
  readonly task: string;
  /** The task as it is shown, after the redaction. */
  readonly shownTask: string;
  readonly rows: readonly ExportRow[];
  readonly runs: readonly { readonly id: string; readonly head: { readonly seq: number; readonly hash: string } }[];
  /** Runs that these have started and whose words are in the rows, too. */
  readonly below: readonly string[];
}

/** What was made of the listed runs up to the position `done`. */
export interface RowBatch {
  readonly done: number;
  readonly made: readonly MadeRows[];
  readonly skipped: Skipped;
}

/** Reads the runs after a position and makes rows of each, batch by batch, up to as many runs as a file may have. */
export async function* rowsOfRuns(
  db: Knex,
  exportId: string,
  request: ExportRequest & { readonly format: RowFormat },
  after: number,
): AsyncIterable<RowBatch> {
  const { format, options } = request;
  const stretch = { exportId, format, after, upTo: after + options.runsPerFile };
  let done = after;
  for await (const made of readExported(db, stretch, (one) => madeOf(one, request))) {
    done += made.length;
    const skipped = made.reduce(
      (sum: Skipped, one) => (typeof one === 'string' ? addSkipped(sum, { [one]: 1 }) : sum),
      {},
    );
    yield { done, skipped, made: made.filter((one) => typeof one !== 'string') };
  }
}

async function madeOf(
  read: Exported,
  request: ExportRequest & { readonly format: RowFormat },
): Promise<MadeRows | SkipReason> {
  if (read.type === 'skipped') return read.why;
  const { run } = read;
  if (!isWanted(run, request.filters)) return 'filtered';
  const { rows, shownTask } = await redactThen(run, request, (clean) => ({
    rows: exportRows(clean, request.format, request.options),
    shownTask: clean.task,
  }));
  return rows.length === 0
    ? 'nothing_said'
    : { ...{ task: run.task, shownTask }, rows, runs: [sourceOf(run)], below: idsBelow(run.family) };
}

const idsBelow = ({ children }: Family): string[] => [...children].flatMap(([id, family]) => [id, ...idsBelow(family)]);

/** What of a run is evidence. */
export const sourceOf = ({ family: { conversation } }: ExportedRun): MadeRows['runs'][number] => ({
  id: conversation.run.id,
  head: conversation.head,
});

/** Attempts with more characters are in no pair: those of all pairs of a task are in memory together. */
const ATTEMPT_CHARS_MAX = 2 * 1024 * 1024;
/** Where a task has more than this in its attempts, those that come after are read again when they are paired. */
const KEPT_CHARS = 16 * 1024 * 1024;
/** Attempts of one task among which pairs are looked for: the first. */
const ATTEMPTS_MAX = 10_000;

interface Reader {
  readonly db: Knex;
  readonly exportId: string;
  readonly request: ExportRequest;
}

/** What a run tried, and the run; or why it is in no pair. */
type Tried = { readonly attempt: Attempt; readonly source: MadeRows['runs'][number] } | SkipReason;

/** What is remembered of an attempt until all of its task are read. */
interface Heard {
  readonly position: number;
  readonly source: MadeRows['runs'][number];
  readonly worth: AttemptWorth;
  /** Null: there was no room for its words. */
  readonly attempt: Attempt | null;
}

/** The attempts of a task as far as they are read. */
interface Task {
  readonly name: string;
  readonly heard: Heard[];
  skipped: Skipped;
  chars: number;
  /** The last position that was read. */
  last: number;
}

/**
 * Reads the runs after a position, which are listed task by task, and makes a row of each pair. Ends behind the task in which
 * the runs become as many as a file may have: a task is never parted.
 */
export async function* rowsOfPairs(
  db: Knex,
  exportId: string,
  request: ExportRequest,
  after: number,
): AsyncIterable<RowBatch> {
  const reader: Reader = { db, exportId, request };
  const stretch = { exportId, format: request.format, after, upTo: Number.POSITIVE_INFINITY };
  const last = after + request.options.runsPerFile;
  let task: Task | null = null;
  let done = after;
  const make = async (one: Exported) => ({ listed: one.listed, tried: await triedIn(one, request) });
  for await (const batch of readExported(db, stretch, make)) {
    let closed: Omit<RowBatch, 'done'> = { made: [], skipped: {} };
    for (const { listed, tried } of batch) {
      // What is erased meanwhile has no task any more; it parts none.
      if (task !== null && task.name !== listed.task && listed.task !== '') {
        closed = both(closed, await pairsOf(reader, task));
        done = task.last;
        task = null;
        if (done >= last) {
          yield { done, ...closed };
          return;
        }
      }
      task ??= { name: listed.task, heard: [], skipped: {}, chars: 0, last: 0 };
      hear(task, listed.position, tried);
    }
    yield { done, ...closed };
  }
  if (task !== null) yield { done: task.last, ...(await pairsOf(reader, task)) };
}

const both = (a: Omit<RowBatch, 'done'>, b: Omit<RowBatch, 'done'>): Omit<RowBatch, 'done'> => ({
  made: [...a.made, ...b.made],
  skipped: addSkipped(a.skipped, b.skipped),
});

async function triedIn(read: Exported, request: ExportRequest): Promise<Tried> {
  if (read.type === 'skipped') return read.why;
  const { run } = read;
  if (!isWanted(run, request.filters)) return 'filtered';
  const attempt = await redactThen(run, request, (clean) => attemptOf(clean, request.options));
  return typeof attempt === 'string' ? attempt : { attempt, source: sourceOf(run) };
}

function hear(task: Task, position: number, tried: Tried): void {
  const heard = typeof tried === 'string' ? tried : heardOf(task, position, tried);
  task.last = position;
  if (typeof heard === 'string') task.skipped = addSkipped(task.skipped, { [heard]: 1 });
  else task.heard.push(heard);
}

function heardOf(task: Task, position: number, { attempt, source }: Exclude<Tried, string>): Heard | SkipReason {
  if (task.heard.length >= ATTEMPTS_MAX) return 'unpaired';
  const chars = JSON.stringify([attempt.prompt, attempt.answer, attempt.tools]).length;
  if (chars > ATTEMPT_CHARS_MAX) return 'too_large';
  const isKept = task.chars + chars <= KEPT_CHARS;
  if (isKept) task.chars += chars;
  return { position, source, worth: attempt.worth, attempt: isKept ? attempt : null };
}

/** The pairs of a task whose runs are all read. */
async function pairsOf(reader: Reader, { name, heard, skipped }: Task): Promise<Omit<RowBatch, 'done'>> {
  const chosen = choosePairs(
    heard.map(({ worth }) => worth),
    reader.request.options,
  );
  const made: MadeRows[] = [];
  for (const pair of chosen.pairs) {
    const [better, worse] = [heard[pair.chosen], heard[pair.rejected]];
    if (better === undefined || worse === undefined) continue;
    const sides = [await wordsOf(reader, better), await wordsOf(reader, worse)] as const;
    // Erased or deleted since.
    if (sides[0] === null || sides[1] === null) continue;
    const rows = [pairRow(sides[0], sides[1], pair.margin)];
    const tasks = { task: name, shownTask: sides[0].task };
    made.push({ ...tasks, rows, runs: [better.source, worse.source], below: [] });
  }
  const unpaired = heard.length - chosen.duplicates - 2 * made.length;
  return { made, skipped: addSkipped(skipped, { duplicate: chosen.duplicates, unpaired }) };
}

async function wordsOf({ db, exportId, request }: Reader, heard: Heard): Promise<Attempt | null> {
  if (heard.attempt !== null) return heard.attempt;
  const stretch = { exportId, format: request.format, after: heard.position - 1, upTo: heard.position };
  for await (const [tried] of readExported(db, stretch, (one) => triedIn(one, request)))
    return tried === undefined || typeof tried === 'string' ? null : tried.attempt;
  return null;
}
