import type { Knex } from 'knex';
import { type CallOutcome, callOutcome } from '../core/event.js';
import { canonical } from '../core/json.js';
import type { Effect } from '../core/tool.js';

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
}

const calls = (db: Knex) => db<CallRow>('holdfast.calls');

const rowOf = (intent: CallIntent, outcome: CallOutcome | null): CallRow => ({
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

export async function findCall(db: Knex, runId: string, callId: string): Promise<CallRecord | null> {
  const row = await calls(db).where({ run_id: runId, call_id: callId }).first();
  if (row === undefined) return null;
  return {
    digest: row.digest,
    execution: row.execution,
    outcome: row.outcome === null ? null : callOutcome.parse(JSON.parse(row.outcome)),
  };
}

/**
 * Writes the intent of a call, or takes over one without an outcome. Only the present owner of the worker id may: false
 * when a newer epoch of this worker exists, or when another execution has got an outcome.
 */
export async function claimCall(trx: Knex.Transaction, intent: CallIntent): Promise<boolean> {
  const owner = await trx('holdfast.workers').where({ id: intent.worker, epoch: intent.epoch }).forShare().first('id');
  if (owner === undefined) return false;
  const inserted = await calls(trx)
    .insert(rowOf(intent, null))
    .onConflict(['run_id', 'call_id'])
    .ignore()
    .returning('call_id');
  if (inserted.length > 0) return true;
  const taken = await calls(trx)
    .where({ run_id: intent.runId, call_id: intent.callId })
    .whereNull('outcome')
    .update({ execution: intent.execution, worker: intent.worker, epoch: intent.epoch });
  return taken > 0;
}

/** Keeps the outcome of a call that has none yet. The first outcome stands; it is what comes back. */
export async function settleCall(db: Knex, intent: CallIntent, outcome: CallOutcome): Promise<CallOutcome> {
  const finished = { outcome: canonical(outcome), finished_at: db.fn.now() };
  await db('holdfast.calls')
    .insert({ ...rowOf(intent, outcome), finished_at: db.fn.now() })
    .onConflict(['run_id', 'call_id'])
    .merge(finished)
    .whereNull('calls.outcome');
  return (await findCall(db, intent.runId, intent.callId))?.outcome ?? outcome;
}
