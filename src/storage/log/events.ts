import type { Knex } from 'knex';
import { HoldfastError } from '../../core/errors/errors.js';
import { canonical } from '../../core/json.js';
import { dataHash, genesis, type Head } from '../../core/log/chain.js';
import type { EventDraft } from '../../core/log/event.js';
import type { RunState } from '../../core/log/state.js';
import { isOver } from '../../core/runs/run.js';
import { inOneFlight } from '../database/transactions.js';
import {
  type EventRow,
  keepsFold,
  type LogTail,
  type SealedEvents,
  sealAll,
  type Writing,
  writeEachSealed,
  writeSealed,
} from './write-events.js';

interface HeadRow {
  run_id: string;
  tenant: string;
  seq: number;
  hash: string;
  state: string;
  state_hash: string;
  at: string;
}

const events = (db: Knex) => db<EventRow>('holdfast.events');
const heads = (db: Knex) => db<HeadRow>('holdfast.run_heads');

/** Makes the empty log of a run, with the key that its payloads are committed under (32 random bytes in hex). Gives its end. */
export async function createLog(
  trx: Knex.Transaction,
  runId: string,
  tenant: string,
  runKey: string,
): Promise<LogTail> {
  const head = genesis(runId, tenant);
  await heads(trx).insert({
    run_id: runId,
    tenant,
    seq: 0,
    hash: head.hash,
    state: canonical(head.state),
    state_hash: head.stateHash,
    at: head.at,
  });
  await trx('holdfast.run_keys').insert({ run_id: runId, tenant, key: runKey });
  return { head, runKey, seqOf: new Map() };
}

/** Drafts for the log of one run. */
export interface LogDrafts {
  readonly runId: string;
  readonly drafts: readonly EventDraft[];
}

interface HeldLog {
  readonly head: Head;
  readonly runKey: string | null;
  readonly stored: readonly StoredEvent[];
}

/** Holds the heads of logs, and reads what each has under the keys of its drafts and of what they follow from. */
async function lockHeads(trx: Knex.Transaction, logs: readonly LogDrafts[]): Promise<ReadonlyMap<string, HeldLog>> {
  const wanted = logs.flatMap(({ runId, drafts }) =>
    [...new Set(drafts.flatMap(({ key, parentKey }) => (parentKey === null ? [key] : [key, parentKey])))].map(
      (key) => ({ runId, key }),
    ),
  );
  const head = trx('holdfast.run_heads as h')
    .leftJoin('holdfast.run_keys as k', 'k.run_id', 'h.run_id')
    .whereRaw('h.run_id = any(?)', [logs.map(({ runId }) => runId)])
    .orderBy('h.run_id')
    .select('h.run_id', 'h.tenant', 'h.seq', 'h.hash', 'h.state', 'h.state_hash', 'h.at', 'k.key')
    .forUpdate('h');
  const there = events(trx)
    .whereRaw('(run_id, key) in (select * from unnest(?::text[], ?::text[]))', [
      wanted.map(({ runId }) => runId),
      wanted.map(({ key }) => key),
    ])
    .select('run_id', 'key', 'seq', 'kind', 'data_hash');
  const [rows, stored] = await inOneFlight<[HeadRow & { key: string | null }, StoredEvent]>(trx, [head, there]);
  return new Map(
    rows.map((row) => [
      row.run_id,
      { head: headOf(row), runKey: row.key, stored: stored.filter((one) => one.run_id === row.run_id) },
    ]),
  );
}

type StoredEvent = Pick<EventRow, 'run_id' | 'key' | 'seq' | 'kind' | 'data_hash'>;

function headOf(row: HeadRow): Head {
  // Only this file writes the state, so that its text is the state of the fold.
  const state: RunState = JSON.parse(row.state);
  const { run_id: runId, tenant, seq, hash, state_hash: stateHash, at } = row;
  return { runId, tenant, seq, hash, state, stateHash, at };
}

/** Throws `replay_diverged` when an event that was written before would now say something else. */
function assertSame(runKey: string, draft: EventDraft, stored: StoredEvent): void {
  // What the model was asked stays as it was asked: its answer is recorded, so that other instructions by now (an edit, a
  // clock) change nothing of what follows.
  if (stored.kind === draft.kind && draft.kind === 'model.requested') return;
  if (stored.kind === draft.kind && stored.data_hash === dataHash(runKey, stored.seq, canonical(draft.data))) return;
  throw new HoldfastError(
    'replay_diverged',
    `Event ${stored.seq} (${draft.key}) was recorded as ${stored.kind}; the replay makes ${draft.kind} with other data of it.`,
  );
}

/**
 * Chains drafts to a run's log, in their order, in the caller's transaction. A draft whose key is in the log already is
 * left out, so that writing again writes nothing; it must say the same, else `replay_diverged`. To the log of a run that is
 * over, or of a segment that the run has left behind, nothing is added: what comes then is from an execution that was given
 * up. Gives the end of the log when the last draft was new, and null otherwise.
 */
export async function appendEvents(
  trx: Knex.Transaction,
  runId: string,
  drafts: readonly EventDraft[],
  context: Writing,
): Promise<LogTail | null> {
  const [tail] = await appendToEach(trx, [{ runId, drafts }], context);
  return tail ?? null;
}

/** The same for the logs of several runs, each named once, in as many statements as for one. */
export async function appendToEach(
  trx: Knex.Transaction,
  logs: readonly LogDrafts[],
  context: Writing,
): Promise<readonly (LogTail | null)[]> {
  const held = logs.some(({ drafts }) => drafts.length > 0) ? await lockHeads(trx, logs) : new Map<string, HeldLog>();
  const sealed: { readonly before: Head; readonly sealed: SealedEvents }[] = [];
  const tails = logs.map(({ runId, drafts }) => {
    const last = drafts.at(-1);
    if (last === undefined) return null;
    const log = held.get(runId);
    if (log === undefined) throw new HoldfastError('run_unknown', `The log of run ${runId} does not exist.`);
    const fresh = freshOf(log, drafts, context);
    if (fresh.length === 0 || log.runKey === null) return null;
    const seqOf = new Map(log.stored.map((row) => [row.key, row.seq]));
    const made = sealAll({ head: log.head, runKey: log.runKey, seqOf }, fresh, context);
    sealed.push({ before: log.head, sealed: made });
    return fresh.at(-1) === last ? made.tail : null;
  });
  // What has charges or a fold beside its events is written by itself.
  const isPlain = ({ before, sealed: { charges, tail } }: (typeof sealed)[number]): boolean =>
    charges.length === 0 && !keepsFold(before.seq, tail.head.seq);
  const plain = sealed.length === 1 ? [] : sealed.filter(isPlain);
  if (plain.length > 0) await writeEachSealed(trx, plain);
  for (const one of sealed) if (!plain.includes(one)) await writeSealed(trx, one.before, one.sealed);
  return tails;
}

/** Those drafts that are not in a log yet; none for a log that takes nothing any more. */
function freshOf({ head, runKey, stored }: HeldLog, drafts: readonly EventDraft[], context: Writing): EventDraft[] {
  // Its key goes only when a run is over.
  if (runKey === null || (head.state.status !== 'none' && isOver(head.state.status))) return [];
  if (context.segment !== undefined && context.segment < head.state.segment) return [];
  const known = new Map(stored.map((row) => [row.key, row]));
  for (const draft of drafts) {
    const before = known.get(draft.key);
    if (before !== undefined) assertSame(runKey, draft, before);
  }
  return drafts.filter((draft) => !known.has(draft.key));
}

/**
 * The same in one statement, for a writer who knows the end of the log and that none of the drafts is in it: who wrote the
 * last event of an execution of a segment writes those that follow. Null, and nothing is written, when someone else has
 * written meanwhile or a draft follows from an event that the tail does not know: then `appendEvents` finds out.
 */
export async function extendLog(
  db: Knex,
  tail: LogTail,
  drafts: readonly EventDraft[],
  context: Writing,
): Promise<LogTail | null> {
  if (!drafts.every(({ parentKey }, index) => parentKey === null || isKnown(tail, drafts, index, parentKey)))
    return null;
  const sealed = sealAll(tail, drafts, context);
  return (await writeSealed(db, tail.head, sealed)) ? sealed.tail : null;
}

const isKnown = (tail: LogTail, drafts: readonly EventDraft[], index: number, key: string): boolean =>
  tail.seqOf.has(key) || drafts.slice(0, index).some((draft) => draft.key === key);
