import type { Knex } from 'knex';
import { ERRORS, isErrorCode } from '../../core/errors/errors.js';
import { canonical } from '../../core/json.js';
import { EMPTY_STATE } from '../../core/log/state.js';
import { errorView } from '../../core/runs/run.js';
import { removeItemsOfRun } from '../agents/session-cut.js';
import { ERASED_NAME } from '../exports/export-tags.js';
import { leaveExports } from '../exports/exported-runs.js';
import type { RunRow } from '../runs/run-row.js';
import { runs } from '../runs/runs.js';
import { ATTEMPT } from '../tasks/task-attempts.js';
import { eraseTaskOf } from '../tasks/tasks.js';
import { REPAIRED } from './lost-rows.js';
import { forgetSubjects } from './subjects.js';

const OWN_KEYS = [REPAIRED, ATTEMPT];

/** Stands where a text was. */
const ERASED = '(erased)';

/**
 * Takes the content of a run away, under the lock of its row and after DBOS has nothing of it: its key, payloads and every copy
 * of them. What proves and what counts stays: hashes, heads, statuses, times, who decided what, tokens and charges.
 */
export async function eraseContent(trx: Knex.Transaction, run: RunRow): Promise<void> {
  const { id } = run;
  await eraseToldEvents(trx, run);
  await trx('holdfast.run_keys').where({ run_id: id }).delete();
  // Names in the log are made of ids, and models choose the ids of calls. Ours alone say which run goes on for which.
  await trx('holdfast.events')
    .where({ run_id: id })
    .update({ data: null, key: trx.raw("case when key = any(?) then key else 'erased:' || seq end", [OWN_KEYS]) });
  const { status, segment } = run;
  const state = canonical({ ...EMPTY_STATE, status, segment });
  await trx('holdfast.run_heads').where({ run_id: id }).update({ state });
  const made = [
    'calls',
    'snapshots',
    'fold_snapshots',
    'timers',
    'mcp_pins',
    'crashes',
    'trajectories',
    'trajectories_due',
  ];
  for (const table of made) await trx(`holdfast.${table}`).where({ run_id: id }).delete();
  await eraseInterruptions(trx, id);
  await trx('holdfast.rewards').where({ run_id: id }).update({ data: null });
  await eraseTaskOf(trx, id);
  await forgetSubjects(trx, id);
  await leaveExports(trx, run);
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
export async function eraseToldEvents(trx: Knex.Transaction, { id, tenant }: RunRow): Promise<void> {
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
  const { code } = errorView.parse(JSON.parse(error));
  const known = isErrorCode(code) ? code : 'run_failed';
  return canonical({ code: known, message: ERASED, hint: ERRORS[known].hint });
}
