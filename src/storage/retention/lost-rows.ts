import type { Knex } from 'knex';
import { HoldfastError } from '../../core/errors/errors.js';
import type { Loss, LossEntry } from '../../core/evidence/log-entry.js';
import { sha256 } from '../../core/json.js';
import { callOutcome } from '../../core/log/call-outcome.js';
import type { LostCall, LostDecision } from '../../core/log/repair.js';
import { readJsonIfLegible } from '../database/stored-json.js';
import { appendEntries, entryRows, lockLog } from '../evidence/log-rows.js';

/** The natural key of the event that names the source of a repaired run. It stays when its payload is erased. */
export const REPAIRED = 'repaired';

/** The run that goes on for one whose log was repaired; null: none does. */
export async function repairOf(db: Knex, runId: string): Promise<string | null> {
  const row: { id: string } | undefined = await db('holdfast.runs as r')
    .join('holdfast.events as e', 'e.run_id', 'r.id')
    .where({ 'r.forked_from_run_id': runId, 'e.key': REPAIRED })
    .orderBy(['r.created_at', 'r.id'])
    .first('r.id');
  return row?.id ?? null;
}

/** How many events a log has outside of its first so many. */
export async function countOutside(db: Knex, runId: string, valid: number): Promise<number> {
  const row: { n?: string | number } | undefined = await db('holdfast.all_events')
    .where({ run_id: runId })
    .whereRaw('(seq > ? or seq < 1)', [valid])
    .count({ n: '*' })
    .first();
  return Number(row?.n ?? 0);
}

type KnownCall = Pick<LostCall, 'callId' | 'tool' | 'effect' | 'outcome'>;

/** The calls of a run that have an intent or an outcome, beside those that are known. */
export async function callsBeside(db: Knex, runId: string, known: ReadonlySet<string>): Promise<KnownCall[]> {
  const rows: { call_id: string; tool: string; effect: LostCall['effect']; outcome: string | null }[] = await db(
    'holdfast.calls',
  )
    .where({ run_id: runId })
    .orderBy('call_id')
    .select('call_id', 'tool', 'effect', 'outcome');
  return rows.flatMap(({ call_id: callId, tool, effect, outcome }) =>
    known.has(callId) ? [] : [{ callId, tool, effect, outcome: typeOf(outcome) }],
  );
}

/** What cannot be read says nothing of what happened. */
const typeOf = (outcome: string | null): LostCall['outcome'] =>
  outcome === null ? null : (readJsonIfLegible(callOutcome, outcome)?.type ?? null);

/** What people, time and others have said on interruptions of a run, beside those that are known to be decided. */
export async function decisionsBeside(
  db: Knex,
  runId: string,
  known: ReadonlySet<string>,
  limit: number,
): Promise<LostDecision[]> {
  const rows: { interruption_id: string; verdict: LostDecision['verdict']; actor: string }[] = await db(
    'holdfast.decisions',
  )
    .where({ run_id: runId })
    .whereNot({ verdict: 'cancel' })
    .whereRaw('interruption_id <> all(?)', [[...known]])
    .orderBy(['decided_at', 'id'])
    .limit(limit)
    .select('interruption_id', 'verdict', 'actor');
  return rows.map(({ interruption_id: interruptionId, verdict, actor }) => ({ interruptionId, verdict, actor }));
}

/** Whether an event can be written to a log: its head is there and says what it is, and no event is in the way. */
export async function takesEvents(db: Knex, runId: string): Promise<boolean> {
  const head: { seq: number; state: string; state_hash: string } | undefined = await db('holdfast.run_heads')
    .where({ run_id: runId })
    .first('seq', 'state', 'state_hash');
  if (head === undefined || sha256(head.state) !== head.state_hash) return false;
  const beyond = await db('holdfast.all_events').where({ run_id: runId }).where('seq', '>', head.seq).first('seq');
  return beyond === undefined;
}

/** What is entered of a run that loses something, read while its head is still there. */
type LossDraft = Omit<LossEntry, 'previous'>;

export async function lossDraft(
  trx: Knex.Transaction,
  runId: string,
  { loss, actor, reason }: { readonly loss: Loss; readonly actor: string; readonly reason: string },
): Promise<LossDraft | null> {
  const head = await trx('holdfast.run_heads').where({ run_id: runId }).first('tenant', 'seq', 'hash');
  return head === undefined ? null : { v: 1, loss, runId, ...head, actor, reason };
}

/**
 * Enters it into the log over all runs, as the last statement of the transaction that takes it away. A log that is broken takes
 * no entry, and keeps no one from erasing: the loss then has no entry, which verifying says.
 */
export async function enterLoss(trx: Knex.Transaction, draft: LossDraft | null): Promise<void> {
  if (draft === null) return;
  await lockLog(trx);
  const { runId: run_id, loss, seq } = draft;
  if ((await entryRows(trx).where({ run_id, loss, seq }).first('index')) !== undefined) return;
  const before = await entryRows(trx).where({ run_id }).whereNull('loss').orderBy('seq', 'desc').first('hashes');
  try {
    await appendEntries(trx, [{ ...draft, previous: before?.hashes.slice(0, 64) ?? null }]);
  } catch (error) {
    if (!(error instanceof HoldfastError && error.code === 'log_broken')) throw error;
  }
}
