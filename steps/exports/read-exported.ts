import type { Knex } from 'knex';
import { type AgentPrompt, promptsIn } from '../../src/core/agents/agent-prompt.js';
import type { Family } from '../../src/core/exports/atif.js';
import { type Conversation, isAssistant } from '../../src/core/exports/conversation.js';
import { foldConversation } from '../../src/core/exports/conversation-fold.js';
import type { ExportFormat, SkipReason } from '../../src/core/exports/export.js';
import type { ExportedRun } from '../../src/core/exports/export-row.js';
import { falseRun, isDefinition } from '../../src/core/integrity/begin-rows.js';
import { asJson, jsonValue } from '../../src/core/json.js';
import type { ToldEvent } from '../../src/core/log/event.js';
import type { RewardView } from '../../src/core/tasks/reward.js';
import type { LoggedEvent } from '../../src/core/trajectories/step-fold.js';
import { foldTrajectory, trajectoryRunOf } from '../../src/core/trajectories/trajectory.js';
import type { SeenEnvironment } from '../../src/core/trajectories/trajectory-step.js';
import { chargesOfRuns, type TurnCharges } from '../../src/storage/budgets/charges.js';
import { seenEnvironments } from '../../src/storage/containers/environments.js';
import { isRowChanged } from '../../src/storage/database/legible-rows.js';
import { breathe, inBreaths } from '../../src/storage/database/timing.js';
import { type RunToExport, readDefinitions, readListed } from '../../src/storage/exports/export-runs.js';
import { logSizes, readLogs } from '../../src/storage/log/read-events.js';
import type { RunRow } from '../../src/storage/runs/run-row.js';
import { runs } from '../../src/storage/runs/runs.js';
import { lastRewards } from '../../src/storage/tasks/rewards.js';
import { runFactsOf, type Scores, scoresOf } from '../../src/storage/trajectories/trajectories.js';

/** A log with more bytes of payloads than this is in no export: a row is made in memory. */
const LOG_BYTES_MAX = 64 * 1024 * 1024;
/** Logs are read together up to so many bytes. */
const READ_BYTES = 8 * 1024 * 1024;
const READ_RUNS = 50;
/** Listed runs are read so many at once. */
const PAGE_RUNS = 100;
const DEPTH_MAX = 10;

export type Exported = { readonly listed: RunToExport } & (
  | { readonly type: 'run'; readonly run: ExportedRun }
  | { readonly type: 'skipped'; readonly why: SkipReason }
);

/** Listed runs of an export: those after a position, up to another one. */
export interface Stretch {
  readonly exportId: string;
  readonly format: ExportFormat;
  readonly after: number;
  readonly upTo: number;
}

/** Prompts of the agents that were read before, by the digest of their definition. */
type Prompts = Map<string, ReadonlyMap<string, AgentPrompt>>;

interface Reader {
  readonly db: Knex;
  readonly format: ExportFormat;
  readonly prompts: Prompts;
  /** Digests whose definitions are others by now. */
  readonly changed: Set<string>;
}

/**
 * Reads listed runs in their order, some at once, and makes something of each. For ATIF also the runs that their calls started.
 * While something is made of some, those after them are on their way.
 */
export async function* readExported<T>(
  db: Knex,
  stretch: Stretch,
  make: (one: Exported) => Promise<T>,
): AsyncIterable<readonly T[]> {
  const reader: Reader = { db, format: stretch.format, prompts: new Map(), changed: new Set() };
  for await (const batch of readAhead(readBatches(reader, stretch))) {
    const made: T[] = [];
    for (const one of batch) {
      made.push(await make(await exportedOf(reader, one)));
      // Whatever else the process does has its turn between two runs.
      await breathe();
    }
    yield made;
  }
}

/** What is read of a listed run. */
interface Loaded {
  readonly listed: RunToExport;
  readonly sizeBytes: number;
  readonly log: () => Promise<readonly LoggedEvent[]>;
  /** Null: no one has judged it. */
  readonly reward: (() => RewardView) | null;
  readonly scores: Scores;
  /** Null: there is none, or the format is not `jsonl`. */
  readonly charges: (() => TurnCharges) | null;
  /** Null: the run has none, or the format is not `jsonl`. */
  readonly environment: (() => SeenEnvironment) | null;
}

async function* readBatches(reader: Reader, { exportId, after, upTo }: Stretch): AsyncIterable<readonly Loaded[]> {
  const { db, format } = reader;
  for (let read = after; read < upTo; ) {
    const page = await readListed(db, exportId, read, Math.min(PAGE_RUNS, upTo - read));
    if (page.length === 0) return;
    const rows = page.flatMap(({ row }) => row ?? []);
    const ids = rows.map(({ id }) => id);
    const sizes = await logSizes(db, ids);
    const charges = format === 'jsonl' ? await chargesOfRuns(db, ids) : new Map<string, () => TurnCharges>();
    const environments =
      format === 'jsonl' ? await seenEnvironments(db, ids) : new Map<string, () => SeenEnvironment>();
    await learnPrompts(reader, rows);
    const sizeOf = (one: RunToExport): number => (one.row === null ? 0 : (sizes.get(one.row.id) ?? 0));
    for (const batch of batches(page, sizeOf)) {
      const fit = batch.flatMap((one) => (one.row !== null && sizeOf(one) <= LOG_BYTES_MAX ? [one.run_id] : []));
      const [logs, rewards] = [await readLogs(db, fit), await lastRewards(db, fit)];
      const scores = await scoresOf(db, fit);
      yield batch.map((listed) => ({
        ...{ listed, sizeBytes: sizeOf(listed), log: logs.get(listed.run_id) ?? (async () => []) },
        scores: scores.get(listed.run_id) ?? { quality: null, diversity: null },
        ...{ reward: rewards.get(listed.run_id) ?? null, charges: charges.get(listed.run_id) ?? null },
        environment: environments.get(listed.run_id) ?? null,
      }));
    }
    read += page.length;
  }
}

function* batches(
  listed: readonly RunToExport[],
  sizeOf: (one: RunToExport) => number,
): Iterable<readonly RunToExport[]> {
  let batch: RunToExport[] = [];
  let bytes = 0;
  for (const one of listed) {
    if (batch.length === READ_RUNS || (batch.length > 0 && bytes + sizeOf(one) > READ_BYTES)) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(one);
    bytes += sizeOf(one);
  }
  if (batch.length > 0) yield batch;
}

async function learnPrompts({ db, prompts, changed }: Reader, rows: readonly RunRow[]): Promise<void> {
  const unknown = [...new Set(rows.map(({ agent_hash }) => agent_hash))].filter((hash) => !prompts.has(hash));
  if (unknown.length === 0) return;
  const found = await readDefinitions(db, unknown);
  for (const hash of unknown) {
    const definition = found.get(hash);
    const isChanged = definition !== undefined && !isDefinition(hash, definition);
    if (isChanged) changed.add(hash);
    prompts.set(hash, promptsIn(isChanged ? null : jsonValue.parse(JSON.parse(definition ?? 'null'))));
  }
}

const isChanged = async ({ changed }: Reader, row: RunRow, log: readonly ToldEvent[]): Promise<boolean> =>
  changed.has(row.agent_hash) || (await inBreaths(falseRun(row, log))) !== null;

/** Thrown where a run below the exported one does not say what its log says. */
class ChangedBelow extends Error {}

const promptsOf = ({ prompts }: Reader, { agent_hash }: RunRow): ReadonlyMap<string, AgentPrompt> =>
  prompts.get(agent_hash) ?? new Map();

async function exportedOf(
  reader: Reader,
  { listed, sizeBytes, log, reward, charges, scores, environment }: Loaded,
): Promise<Exported> {
  const { row, task } = listed;
  if (row === null) return { listed, type: 'skipped', why: 'deleted' };
  if (sizeBytes > LOG_BYTES_MAX) return { listed, type: 'skipped', why: 'too_large' };
  const judged = legibleOf(reward);
  if (judged === 'changed') return { listed, type: 'skipped', why: 'row_changed' };
  const facts = runFactsOf(row, judged);
  const events = await log();
  const conversation = await inBreaths(foldConversation(facts.run, events));
  if (conversation === null) return { listed, type: 'skipped', why: 'erased' };
  if (await isChanged(reader, row, events)) return { listed, type: 'skipped', why: 'row_changed' };
  const children = await childrenIn(reader, conversation);
  if (children === null) return { listed, type: 'skipped', why: 'row_changed' };
  const charged = legibleOf(charges);
  const seen = legibleOf(environment);
  if (seen === 'changed' || charged === 'changed') return { listed, type: 'skipped', why: 'row_changed' };
  const chargesOf = (turn: number) => charged?.get(turn) ?? [];
  const beside = { chargesOf, environment: seen, diversityScore: scores.diversity };
  const trajectory = reader.format === 'jsonl' ? asJson(await inBreaths(foldTrajectory(facts, events, beside))) : null;
  const family = { conversation, prompts: promptsOf(reader, row), children };
  return { listed, type: 'run', run: { family, task, worth: trajectoryRunOf(facts), scores, trajectory } };
}

/** A row that cannot be read takes its own run out of the export, and no other. */
function legibleOf<T>(read: (() => T) | null): T | 'changed' | null {
  try {
    return read?.() ?? null;
  } catch (error) {
    if (isRowChanged(error)) return 'changed';
    throw error;
  }
}

/** Null: one of them does not say what its log says. */
async function childrenIn(reader: Reader, conversation: Conversation): Promise<ReadonlyMap<string, Family> | null> {
  try {
    return reader.format === 'atif' ? await childrenOf(reader, conversation, 1) : new Map();
  } catch (error) {
    if (error instanceof ChangedBelow) return null;
    throw error;
  }
}

async function childrenOf(
  reader: Reader,
  { loops }: Conversation,
  depth: number,
): Promise<ReadonlyMap<string, Family>> {
  const { db } = reader;
  const ids = loops.flatMap(({ messages }) =>
    messages.filter(isAssistant).flatMap(({ calls }) => calls.flatMap(({ childRunId }) => childRunId ?? [])),
  );
  if (ids.length === 0 || depth > DEPTH_MAX) return new Map();
  const rows: RunRow[] = await runs(db).whereIn('id', ids);
  await learnPrompts(reader, rows);
  const sizes = await logSizes(db, ids);
  const children = new Map<string, Family>();
  for (const row of rows) {
    if ((sizes.get(row.id) ?? 0) > READ_BYTES) continue;
    const log = (await readLogs(db, [row.id])).get(row.id);
    const events = (await log?.()) ?? [];
    const conversation = await inBreaths(foldConversation(runFactsOf(row, null).run, events));
    if (conversation === null) continue;
    if (await isChanged(reader, row, events)) throw new ChangedBelow();
    children.set(row.id, {
      ...{ conversation, prompts: promptsOf(reader, row) },
      children: await childrenOf(reader, conversation, depth + 1),
    });
  }
  return children;
}

/**
 * Takes the next of a series while something is done with the one before. What fails is thrown in its turn, and when no one
 * wants more, what is on its way is waited for.
 */
export async function* readAhead<T>(series: AsyncIterable<T>): AsyncIterable<T> {
  const source = series[Symbol.asyncIterator]();
  const ask = (): Promise<IteratorResult<T>> => {
    const asked = source.next();
    // It is looked at later.
    asked.catch(() => undefined);
    return asked;
  };
  let next = ask();
  try {
    for (;;) {
      const { done, value } = await next;
      if (done === true) return;
      next = ask();
      yield value;
    }
  } finally {
    await next.catch(() => undefined);
    await source.return?.();
  }
}
