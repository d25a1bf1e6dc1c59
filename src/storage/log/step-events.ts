import { canonical } from '../../core/json.js';
import type { EventDraft } from '../../core/log/event.js';
import type { StepAction } from '../../core/log/system-event.js';

/** The steps among the events of a run that are written, as events of the system: in the statement that writes them, not in one of their own. */
interface StepRow {
  readonly tenant: string;
  readonly run_id: string;
  readonly worker_id: string;
  readonly data: string;
}

function actionOf(draft: EventDraft): StepAction | null {
  if (draft.kind === 'model.responded') return { type: 'model', turn: draft.data.turn, model: draft.data.model };
  if (draft.kind !== 'call.finished') return null;
  const { tool, outcome } = draft.data;
  return { type: 'tool', tool, outcome: outcome.type };
}

/** `drafts` in the order of their numbers, which begin with `from`. Nobody executed what no worker writes: a fork copies it. */
export function stepRowsOf(
  { runId, tenant }: { readonly runId: string; readonly tenant: string },
  drafts: readonly EventDraft[],
  from: number,
  worker: string | null,
): readonly StepRow[] {
  if (worker === null) return [];
  return drafts.flatMap((draft, index) => {
    const action = actionOf(draft);
    if (action === null) return [];
    return [{ tenant, run_id: runId, worker_id: worker, data: canonical({ seq: from + index, action }) }];
  });
}

/** A part of the statement that writes events of a run, which has the CTE `head`. Takes the rows as JSON. */
export const STEPS_TOLD = `, told as (
       insert into holdfast.system_events (tenant, kind, run_id, worker_id, data)
       select tenant, 'step.executed', run_id, worker_id, data
         from json_populate_recordset(null::holdfast.system_events, ?::json) where exists (select from head))`;
