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
import { type Exported, readExported } from './read-exported.js';
import { madeOfRedacted } from './redact-run.js';

/** Rows that belong together, and the runs that they were made of. */
export interface MadeRows {
  readonly task: string;
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
  const rows = await madeOfRedacted(run, request, (clean) => exportRows(clean, request.format, request.options));
  return rows.length === 0
    ? 'nothing_said'
    : { task: run.task, rows, runs: [sourceOf(run)], below: idsBelow(run.family) };
}

const idsBelow = ({ children }: Family): string[] => [...children].flatMap(([id, family]) => [id, ...idsBelow(family)]);

/** What of a run is evidence. */
export const sourceOf = ({ family: { conversation } }: ExportedRun): MadeRows['runs'][number] => ({
  id: conversation.run.id,
  head: conversation.head,
});
