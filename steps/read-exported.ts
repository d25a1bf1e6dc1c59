import type { Knex } from 'knex';
import { promptsIn } from '../src/core/agent-prompt.js';
import type { Family } from '../src/core/atif.js';
import { type Conversation, isAssistant } from '../src/core/conversation.js';
import { foldConversation } from '../src/core/conversation-fold.js';
import type { ToldEvent } from '../src/core/event.js';
import type { ExportFormat, SkipReason } from '../src/core/export.js';
import type { ExportedRun } from '../src/core/export-row.js';
import { type JsonValue, jsonValue, toJson } from '../src/core/json.js';
import { foldTrajectory, type RunFacts, trajectoryRunOf } from '../src/core/trajectory.js';
import { chargesByTurn } from '../src/storage/charges.js';
import { type RunToExport, readDefinitions } from '../src/storage/export-runs.js';
import { logSizes, readLogs } from '../src/storage/read-events.js';
import { runFactsOf } from '../src/storage/read-trajectory.js';
import { lastRewards } from '../src/storage/rewards.js';
import { type RunRow, runs, runViewOf } from '../src/storage/runs.js';

/** A log with more bytes of payloads than this is in no export: a row is made in memory. */
const LOG_BYTES_MAX = 64 * 1024 * 1024;
/** Logs are read together up to so many bytes. */
const READ_BYTES = 8 * 1024 * 1024;
const READ_RUNS = 50;
const DEPTH_MAX = 10;

export type Exported = { readonly listed: RunToExport } & (
  | { readonly type: 'run'; readonly run: ExportedRun }
  | { readonly type: 'skipped'; readonly why: SkipReason }
);

/** Definitions of agents that were read before, by their digest. */
export type Definitions = Map<string, JsonValue>;

/** Reads listed runs in their order, some at once. For ATIF also the runs that their calls started. */
export async function* readExported(
  db: Knex,
  listed: readonly RunToExport[],
  definitions: Definitions,
  format: ExportFormat,
): AsyncIterable<readonly Exported[]> {
  const rows = listed.flatMap(({ row }) => row ?? []);
  const sizes = await logSizes(
    db,
    rows.map(({ id }) => id),
  );
  await learnDefinitions(db, rows, definitions);
  const sizeOf = (one: RunToExport): number => (one.row === null ? 0 : (sizes.get(one.row.id) ?? 0));
  for (const batch of batches(listed, sizeOf)) {
    const fit = batch.filter((one) => one.row !== null && sizeOf(one) <= LOG_BYTES_MAX);
    const ids = fit.map(({ run_id }) => run_id);
    const [logs, rewards] = [await readLogs(db, ids), await lastRewards(db, ids)];
    const read: Exported[] = [];
    for (const one of batch) {
      if (one.row === null) read.push({ listed: one, type: 'skipped', why: 'deleted' });
      else if (sizeOf(one) > LOG_BYTES_MAX) read.push({ listed: one, type: 'skipped', why: 'too_large' });
      else {
        const facts = runFactsOf(one.row, rewards.get(one.run_id) ?? null);
        read.push(
          await exportedOf(db, { listed: one, row: one.row, facts, format, definitions }, logs.get(one.run_id) ?? []),
        );
      }
    }
    yield read;
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

async function learnDefinitions(db: Knex, rows: readonly RunRow[], definitions: Definitions): Promise<void> {
  const unknown = [...new Set(rows.map(({ agent_hash }) => agent_hash))].filter((hash) => !definitions.has(hash));
  if (unknown.length === 0) return;
  const found = await readDefinitions(db, unknown);
  for (const hash of unknown) definitions.set(hash, jsonValue.parse(JSON.parse(found.get(hash) ?? 'null')));
}

interface ToRead {
  readonly listed: RunToExport;
  readonly row: RunRow;
  readonly facts: RunFacts;
  readonly format: ExportFormat;
  readonly definitions: Definitions;
}

async function exportedOf(
  db: Knex,
  { listed, row, facts, format, definitions }: ToRead,
  events: readonly ToldEvent[],
): Promise<Exported> {
  const conversation = conversationOf(row, events);
  if (conversation === null) return { listed, type: 'skipped', why: 'erased' };
  const children = format === 'atif' ? await childrenOf(db, conversation, definitions, 1) : new Map<string, Family>();
  const prompts = promptsIn(definitions.get(row.agent_hash) ?? null);
  const charges = format === 'jsonl' ? await chargesByTurn(db, row.id) : null;
  const chargesOf = (turn: number) => charges?.get(turn) ?? [];
  const trajectory = () => toJson(foldTrajectory(facts, events, { chargesOf }));
  const worth = trajectoryRunOf(facts);
  const { task } = listed;
  return { listed, type: 'run', run: { family: { conversation, prompts, children }, task, worth, trajectory } };
}

const conversationOf = (row: RunRow, events: readonly ToldEvent[]): Conversation | null =>
  foldConversation(runViewOf(row, []), events);

async function childrenOf(
  db: Knex,
  { loops }: Conversation,
  definitions: Definitions,
  depth: number,
): Promise<ReadonlyMap<string, Family>> {
  const ids = loops.flatMap(({ messages }) =>
    messages.filter(isAssistant).flatMap(({ calls }) => calls.flatMap(({ childRunId }) => childRunId ?? [])),
  );
  if (ids.length === 0 || depth > DEPTH_MAX) return new Map();
  const rows: RunRow[] = await runs(db).whereIn('id', ids);
  await learnDefinitions(db, rows, definitions);
  const sizes = await logSizes(db, ids);
  const children = new Map<string, Family>();
  for (const row of rows) {
    if ((sizes.get(row.id) ?? 0) > READ_BYTES) continue;
    const conversation = conversationOf(row, (await readLogs(db, [row.id])).get(row.id) ?? []);
    if (conversation === null) continue;
    const prompts = promptsIn(definitions.get(row.agent_hash) ?? null);
    children.set(row.id, {
      conversation,
      prompts,
      children: await childrenOf(db, conversation, definitions, depth + 1),
    });
  }
  return children;
}
