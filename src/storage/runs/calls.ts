import type { Knex } from 'knex';
import { HoldfastError } from '../../core/errors/errors.js';
import type { CallAtBegin } from '../../core/integrity/begin-rows.js';
import type { Settlement } from '../../core/interruptions/settlement.js';
import { type AllowedElsewhere, allowedElsewhere } from '../../core/interruptions/standing.js';
import { type CallWait, callWait } from '../../core/interruptions/wait.js';
import { canonical, type JsonValue } from '../../core/json.js';
import { type CallOutcome, callOutcome } from '../../core/log/call-outcome.js';
import type { Effect } from '../../core/tools/tool.js';
import { readJson } from '../database/stored-json.js';

interface CallRow {
  run_id: string;
  call_id: string;
  tenant: string;
  tool: string;
  tool_version: string;
  effect: Effect;
  digest: string;
  execution: string;
  worker: string;
  epoch: number;
  outcome: string | null;
  waits?: number;
  waiting?: string | null;
  resumed?: string | null;
  origin_run_id?: string | null;
  approved_in?: string | null;
}

export interface CallIntent {
  readonly runId: string;
  readonly callId: string;
  readonly tenant: string;
  readonly tool: string;
  readonly toolVersion: string;
  readonly effect: Effect;
  readonly digest: string;
  /** One execution of a segment in one process. A later one knows by it that an intent is not its own. */
  readonly execution: string;
  readonly worker: string;
  readonly epoch: number;
}

export interface CallRecord {
  readonly digest: string;
  readonly execution: string;
  readonly outcome: CallOutcome | null;
  /** How often it has waited. */
  readonly waits: number;
  /** What it waits for; null: it does not. */
  readonly waiting: CallWait | null;
  /** The settlement under which its body went on; null: it runs from its beginning. */
  readonly resumed: Settlement | null;
  /** The run that began the call, where a fork took it over; its keys stay those of that run. */
  readonly originRunId: string | null;
  /** Who allowed it in that run, as long as no one has in this one; null: no one had to, or someone has. */
  readonly approvedIn: AllowedElsewhere | null;
}

const calls = (db: Knex) => db<CallRow>('holdfast.calls');

/** The columns of a call that has ended. */
export const CALL_COLUMNS = [
  ...(['run_id', 'call_id', 'tenant', 'tool', 'tool_version', 'effect'] as const),
  ...(['digest', 'execution', 'worker', 'epoch', 'outcome'] as const),
];

export type CallOutcomeRow = Pick<CallRow, (typeof CALL_COLUMNS)[number]>;

/** How a call ended, to be kept with its step. */
export interface KeptOutcome extends CallOutcomeRow {
  /** Only this execution can have ended it: another outcome in its row is no one's, and does not keep the step from being kept. */
  readonly isNew?: boolean;
}

export const outcomeOf = (row: CallOutcomeRow): CallOutcome =>
  readJson(callOutcome, row.outcome ?? 'null', { table: 'calls', row: row.call_id, column: 'outcome' });

export const rowOf = (intent: CallIntent, outcome: CallOutcome | null): CallOutcomeRow => ({
  run_id: intent.runId,
  call_id: intent.callId,
  tenant: intent.tenant,
  tool: intent.tool,
  tool_version: intent.toolVersion,
  effect: intent.effect,
  digest: intent.digest,
  execution: intent.execution,
  worker: intent.worker,
  epoch: intent.epoch,
  outcome: outcome === null ? null : canonical(outcome),
});

const FOUND = [
  'digest',
  'execution',
  'outcome',
  'waits',
  'waiting',
  'resumed',
  'origin_run_id',
  'approved_in',
] as const;

export async function findCall(db: Knex, runId: string, callId: string): Promise<CallRecord | null> {
  const row: Pick<CallRow, (typeof FOUND)[number]> | undefined = await calls(db)
    .where({ run_id: runId, call_id: callId })
    .first(...FOUND);
  if (row === undefined) return null;
  const read = <T>(
    column: 'outcome' | 'waiting' | 'resumed' | 'approved_in',
    parse: (stored: unknown) => T,
  ): T | null => readColumn({ runId, callId, column, stored: row[column] ?? null }, parse);
  return {
    digest: row.digest,
    execution: row.execution,
    outcome: read('outcome', (stored) => callOutcome.parse(stored)),
    waits: row.waits ?? 0,
    waiting: read('waiting', (stored) => callWait.parse(stored)),
    // Written by `claimCall` alone.
    resumed: read('resumed', (stored) => stored as Settlement),
    originRunId: row.origin_run_id ?? null,
    approvedIn: read('approved_in', (stored) => allowedElsewhere.parse(stored)),
  };
}

interface Cell {
  readonly runId: string;
  readonly callId: string;
  readonly column: string;
  readonly stored: string | null;
}

/** The engine writes what it can read. Throws `row_changed` for what someone else has written. */
function readColumn<T>({ runId, callId, column, stored }: Cell, parse: (stored: unknown) => T): T | null {
  if (stored === null) return null;
  try {
    return parse(JSON.parse(stored));
  } catch (cause) {
    throw new HoldfastError(
      'row_changed',
      `Run ${runId} cannot go on: ${column} of the row ${callId} of calls cannot be read.`,
      { cause },
    );
  }
}

/**
 * Writes the intent of a call, or takes over one without an outcome. Only the present owner of the worker id may: false
 * when a newer epoch of this worker exists, or when another execution has got an outcome or a wait. With a settlement the
 * call waits no longer: it is at work under it, which is kept, so that the one that runs it again does so under the same.
 */
export async function claimCall(
  trx: Knex.Transaction,
  intent: CallIntent,
  resumed: { readonly ordinal: number; readonly settlement: Settlement } | null,
): Promise<boolean> {
  const owner = await trx('holdfast.workers')
    .where({ id: intent.worker, epoch: intent.epoch })
    .forKeyShare()
    .first('id');
  if (owner === undefined) return false;
  const inserted = await calls(trx)
    .insert(rowOf(intent, null))
    .onConflict(['run_id', 'call_id'])
    .ignore()
    .returning('call_id');
  if (inserted.length > 0) return true;
  const open = calls(trx).where({ run_id: intent.runId, call_id: intent.callId }).whereNull('outcome');
  const owned = { execution: intent.execution, worker: intent.worker, epoch: intent.epoch, approved_in: null };
  const taken =
    resumed === null
      ? await open.whereNull('waiting').update(owned)
      : await open
          .where({ waits: resumed.ordinal })
          .update({ ...owned, waiting: null, resumed: canonical(resumed.settlement) });
  return taken > 0;
}

/** Keeps what ended a wait of a call that may not go on yet: when someone allows it, the call goes on under that. */
export async function saveSettlement(
  db: Knex,
  { runId, callId }: CallIntent,
  { ordinal, settlement }: { readonly ordinal: number; readonly settlement: Settlement },
): Promise<void> {
  await calls(db)
    .where({ run_id: runId, call_id: callId, waits: ordinal })
    .whereNull('outcome')
    .whereNotNull('waiting')
    .update({ waiting: null, resumed: canonical(settlement) });
}

/** Keeps the outcome of a call that has none yet. The first outcome stands; it is what comes back. */
export async function settleCall(db: Knex, intent: CallIntent, outcome: CallOutcome): Promise<CallOutcome> {
  const row = rowOf(intent, outcome);
  const kept: unknown[] = await db('holdfast.calls')
    .insert({ ...row, finished_at: db.fn.now() })
    .onConflict(['run_id', 'call_id'])
    .merge({ outcome: row.outcome, finished_at: db.fn.now() })
    .whereNull('calls.outcome')
    .returning('call_id');
  // What comes back is what the database holds, no matter who said it first.
  if (kept.length > 0) return outcomeOf(row);
  return (await findCall(db, intent.runId, intent.callId))?.outcome ?? outcome;
}

/** The ids of all calls for which a run has an intent or an outcome. */
export const callsOfRun = (db: Knex, runId: string) => calls(db).where({ run_id: runId }).select('call_id');

/** The rows of some calls of a run as a segment begins with them, by call. */
export async function callsAtBegin(
  db: Knex,
  runId: string,
  callIds: readonly string[],
): Promise<ReadonlyMap<string, CallAtBegin>> {
  const rows: (Pick<CallRow, 'call_id' | 'waiting' | 'origin_run_id'> & { ended: boolean })[] = await calls(db)
    .where({ run_id: runId })
    .whereRaw('call_id = any(?)', [[...callIds]])
    .select('call_id', 'waiting', 'origin_run_id', db.raw('outcome is not null as ended'));
  return new Map(
    rows.map(({ call_id: id, ended, waiting = null, origin_run_id: origin = null }) => [
      id,
      { ended, waiting, origin },
    ]),
  );
}

/**
 * Keeps what a call waits for. Its n-th wait is kept once, and only while the call has no outcome; of an unsafe call, only
 * by the execution that holds its intent. What comes back is what stands.
 */
export async function recordWait(db: Knex, intent: CallIntent, wait: CallWait): Promise<CallRecord | null> {
  const waiting = { waits: wait.ordinal, waiting: canonical(withoutUndefined(wait)), resumed: null, approved_in: null };
  const merged = calls(db)
    .insert({ ...rowOf(intent, null), ...waiting })
    .onConflict(['run_id', 'call_id'])
    .merge(waiting)
    .whereNull('calls.outcome')
    .where('calls.waits', '<', wait.ordinal);
  if (intent.effect === 'unsafe') merged.where('calls.execution', intent.execution);
  await merged;
  return findCall(db, intent.runId, intent.callId);
}

const withoutUndefined = ({ expiresInMs, ...wait }: CallWait): JsonValue =>
  expiresInMs === undefined ? wait : { ...wait, expiresInMs };
