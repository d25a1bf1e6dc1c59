import type { Knex } from 'knex';
import { ERRORS, isErrorCode } from '../../core/errors/errors.js';
import { canonical } from '../../core/json.js';
import { EMPTY_STATE } from '../../core/log/state.js';
import { errorView } from '../../core/runs/run.js';
import { forgetPins } from '../agents/mcp-lists.js';
import { removeItemsOfRun } from '../agents/sessions.js';
import { readJsonIfLegible } from '../database/stored-json.js';
import { removeFromExports } from '../exports/exported-runs.js';
import { ERASED_NAME } from '../exports/exports.js';
import { eraseEvents } from '../log/write-events.js';
import { eraseMemoryOfRun } from '../memory/erase.js';
import type { RunRow } from '../runs/run-row.js';
import { runs } from '../runs/runs.js';
import { dropArtifacts } from '../tasks/artifacts.js';
import { ATTEMPT } from '../tasks/task-attempts.js';
import { eraseTaskOf } from '../tasks/tasks.js';
import type { Erasing } from './erasures.js';
import { REPAIRED } from './lost-rows.js';
import { forgetSubjects } from './subjects.js';

/** Keys that the engine chose, which say which run goes on for which. */
const OWN_KEYS = [REPAIRED, ATTEMPT];

/** Stands where a text was. */
const ERASED = '(erased)';

/**
 * Takes the content of a run away, under the lock of its row and after DBOS has nothing of it: its key, payloads and every copy
 * of them. What proves and what counts stays: hashes, heads, statuses, times, who decided what, tokens and charges.
 */
export async function eraseContent(trx: Knex.Transaction, run: RunRow, keepsMemory: boolean): Promise<void> {
  const { id } = run;
  await eraseToldEvents(trx, run);
  await trx('holdfast.run_keys').where({ run_id: id }).delete();
  await eraseEvents(trx, id, OWN_KEYS);
  const { status, segment } = run;
  const state = canonical({ ...EMPTY_STATE, status, segment });
  await trx('holdfast.run_heads').where({ run_id: id }).update({ state });
  const made = ['calls', 'snapshots', 'fold_snapshots', 'timers', 'crashes', 'trajectories', 'trajectories_due'];
  for (const table of made) await trx(`holdfast.${table}`).where({ run_id: id }).delete();
  await forgetPins(trx, id);
  await eraseInterruptions(trx, id);
  await trx('holdfast.rewards').where({ run_id: id }).update({ data: null });
  await eraseTaskOf(trx, id);
  await eraseMemoryOfRun(trx, run, keepsMemory);
  // The patch of a version that was live is the definition of other runs.
  await trx('holdfast.agent_versions').where({ tenant: run.tenant, id, status: 'proposed' }).delete();
  await forgetSubjects(trx, id);
  await removeFromExports(trx, run);
  await dropArtifacts(trx, id);
  // The key of a request still starts no second run.
  await trx('holdfast.idempotency_keys').where({ run_id: id }).update({ fingerprint: '' });
  if (run.session_id !== null) await removeItemsOfRun(trx, run.tenant, run.session_id, id);
  await runs(trx)
    .where({ id })
    .update({
      ...{ input: 'null', output: null, error: errorOf(run), metadata: '{}', grants: '[]', cancel_reason: null },
      ...{ session_id: null, history_items: 0, erased_at: trx.fn.now() as unknown as Date },
    });
}

/** What was told to the run: events for it alone, and those that settled a wait of it. */
async function eraseToldEvents(trx: Knex.Transaction, { id, tenant }: RunRow): Promise<void> {
  const events = () => trx('holdfast.emitted_events');
  await events().where({ run_id: id, status: 'kept' }).delete();
  const empty = { payload: 'null', digest: '', key: null, name: ERASED_NAME };
  await events().where({ run_id: id }).update(empty);
  await events()
    .where({ tenant })
    .whereIn('id', (told) =>
      told
        .select(trx.raw("d.value::json ->> 'eventId'"))
        .from('holdfast.interruptions as i')
        .join('holdfast.decisions as d', 'd.interruption_id', 'i.id')
        .where({ 'i.run_id': id, 'i.kind': 'event', 'd.verdict': 'answer' }),
    )
    .update(empty);
}

async function eraseInterruptions(trx: Knex.Transaction, runId: string): Promise<void> {
  const asked = trx('holdfast.interruptions').where({ run_id: runId }).select('id');
  await trx('holdfast.decisions')
    .whereIn('interruption_id', asked)
    .update({ message: null, value: 'null', edit: null, always: null });
  await trx('holdfast.interruptions')
    .where({ run_id: runId })
    .update({
      ...{ arguments: 'null', capabilities: '[]', reason_text: ERASED, digest: '', wait: null },
      ...{ call_id: null, event_name: null },
    });
  await trx('holdfast.standing_decisions').where({ run_id: runId }).update({ scope: '[]' });
}

/** Why it failed, in no words of its own. */
function errorOf({ error }: RunRow): string | null {
  if (error === null) return null;
  const code = readJsonIfLegible(errorView, error)?.code ?? '';
  const known = isErrorCode(code) ? code : 'run_failed';
  return canonical({ code: known, message: ERASED, hint: ERRORS[known].hint });
}

/** Whether a segment of the run has begun: of a fork, one of its own. */
export async function hasBegun(db: Knex, run: Pick<RunRow, 'id' | 'recorded_seq'>): Promise<boolean> {
  const own = db('holdfast.events')
    .where({ run_id: run.id, kind: 'segment.started' })
    .where('seq', '>', run.recorded_seq ?? 0);
  return (await own.first('seq')) !== undefined;
}

/** A run that was forked from this one; null: none was. */
export async function forkOf(db: Knex, id: string): Promise<string | null> {
  const row = await runs(db).where({ forked_from_run_id: id }).first('id');
  return row?.id ?? null;
}

/** Removes a run with all that hangs on it. The session that it was in is free. */
export async function deleteRunRows(trx: Knex.Transaction, id: string): Promise<void> {
  await trx('holdfast.emitted_events').where({ run_id: id }).delete();
  await trx('holdfast.dispatch_starts').where({ run_id: id }).delete();
  await runs(trx).where({ id }).delete();
}

/** Keeps that a run was removed, by whom and why, and where its log ended: one that is missing without it was taken away. */
export async function insertRemovedRun(
  trx: Knex.Transaction,
  runId: string,
  { actor, reason }: Erasing,
): Promise<void> {
  await trx.raw(
    `insert into holdfast.removed_runs (run_id, tenant, seq, hash, state_hash, actor, reason)
     select run_id, tenant, seq, hash, state_hash, ?, ? from holdfast.run_heads where run_id = ?
     on conflict (run_id) do nothing`,
    [actor, reason, runId],
  );
}

/** Removes a run that is over with everything of it but what it cost, under the lock of its row. */
export async function removeRun(trx: Knex.Transaction, run: RunRow, by: Erasing): Promise<void> {
  await insertRemovedRun(trx, run.id, by);
  await eraseToldEvents(trx, run);
  await removeFromExports(trx, run);
  await dropArtifacts(trx, run.id);
  await eraseMemoryOfRun(trx, run, true);
  await forgetPins(trx, run.id);
  if (run.session_id !== null) await removeItemsOfRun(trx, run.tenant, run.session_id, run.id);
  await deleteRunRows(trx, run.id);
}
