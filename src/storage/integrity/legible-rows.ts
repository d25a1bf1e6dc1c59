import { z } from 'zod';
import type { Integrity } from '../../core/integrity.js';
import {
  always,
  argumentEdit,
  type InterruptionView,
  interruptionView,
} from '../../core/interruptions/interruption.js';
import { placedWait } from '../../core/interruptions/wait.js';
import { jsonObject, jsonValue } from '../../core/json.js';
import { errorView, type RunView, runLimits } from '../../core/runs/run.js';
import type { TaskView } from '../../core/tasks/task.js';
import { taskDefinition } from '../../core/tasks/task-definition.js';
import { trajectoryResult } from '../../core/trajectories/trajectory-result.js';
import { alsoUnread, type Columns, json, shownLegibly, TIME, TIME_OR_NULL } from '../database/legible-rows.js';
import type { DecisionRow, InterruptionRow } from '../interruptions/interruption-rows.js';
import { decisionViewOf, interruptionViewOf } from '../interruptions/interruptions.js';
import { type RunRow, runViewOf } from '../runs/run-row.js';
import { type SeenTask, taskViewOf } from '../tasks/tasks.js';

const NULL = json(jsonValue, 'null');
const NO_LIMITS = '{"maxDurationMs":null,"maxTotalTokens":null,"maxTurns":1}';

const RUN: Columns<RunRow> = {
  ...{ input: NULL, output: { ...json(jsonValue, null), instead: null }, error: json(errorView, null) },
  ...{ limits: json(runLimits, NO_LIMITS), metadata: json(jsonObject, '{}') },
  ...{ created_at: TIME, updated_at: TIME, completed_at: TIME_OR_NULL, erased_at: TIME_OR_NULL },
};

const INTERRUPTION: Columns<InterruptionRow> = {
  ...{ arguments: NULL, capabilities: json(z.array(z.string()), '[]'), wait: json(placedWait, null) },
  ...{ verdicts: json(interruptionView.shape.verdicts, '[]'), requested_at: TIME, expires_at: TIME_OR_NULL },
};

const DECISION: Columns<DecisionRow> = {
  ...{ value: NULL, edit: json(argumentEdit, null), always: json(always, null), decided_at: TIME },
};

const TASK: Columns<SeenTask> = {
  ...{ parameters: json(jsonObject, '{}'), metadata: json(jsonObject, '{}'), result: json(trajectoryResult, null) },
  ...{ created_at: TIME, updated_at: TIME, retry_at: TIME_OR_NULL, completed_at: TIME_OR_NULL },
  difficulty: { reads: (stored) => taskDefinition.shape.difficulty.safeParse(stored).success, instead: 'medium' },
};

/** A task as it is shown, also where its row cannot be read. `integrity`: of its run. */
export function shownTask(row: SeenTask, integrity: Integrity): TaskView {
  const { view, unread } = shownLegibly(row, { table: 'tasks', id: row.id, columns: TASK }, taskViewOf);
  return { ...view, integrity: alsoUnread(integrity, unread) };
}

/** A run as it is shown, also where someone has made its row one that cannot be read. */
export function shownRun(row: RunRow, pending: readonly string[], integrity: Integrity): RunView {
  const of = { table: 'runs', id: row.id, columns: RUN };
  const { view, unread } = shownLegibly(row, of, (one) => runViewOf(one, pending, integrity));
  return unread.length === 0 ? view : { ...view, integrity: alsoUnread(integrity, unread) };
}

/** An interruption as it is shown, with what was said on it. */
export function shownInterruption(
  row: InterruptionRow,
  decisions: readonly DecisionRow[],
  { unfit, integrity }: { readonly unfit: string | null; readonly integrity: Integrity },
): InterruptionView {
  const mine = decisions.filter(({ interruption_id: id }) => id === row.id);
  const of = { table: 'interruptions', id: row.id, columns: INTERRUPTION };
  const alone = shownLegibly(row, of, (one) => interruptionViewOf(one, [], { unfit, integrity }));
  const said = mine.map((decision) =>
    shownLegibly(decision, { table: 'decisions', id: decision.id, columns: DECISION }, decisionViewOf),
  );
  const unread = [...alone.unread, ...said.flatMap((one) => one.unread)];
  const view = { ...alone.view, decisions: said.map((one) => one.view) };
  return unread.length === 0 ? view : { ...view, integrity: alsoUnread(integrity, unread) };
}
