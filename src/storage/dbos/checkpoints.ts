import { NOW_MS } from '../database/columns.js';
import { CALL_COLUMNS, type KeptOutcome } from '../runs/calls.js';

/** The one that can ask the database of DBOS: a pool. */
export interface SystemPool {
  query(text: string, values: unknown[]): Promise<{ readonly rows: readonly Record<string, unknown>[] }>;
}

/** The result of a step as DBOS keeps it. */
export interface StepResult {
  readonly output: string | null;
  readonly error: string | null;
  readonly childWorkflowID: string | null;
  readonly functionName: string;
  readonly serialization: string | null;
}

/** A step that is to be kept. Times in milliseconds. */
export interface Checkpoint extends StepResult {
  readonly workflowId: string;
  readonly functionId: number;
  /** The token of the execution that may keep it. */
  readonly owner: string;
  readonly startedAt: number;
  readonly completedAt: number;
  readonly application: string | null;
}

/** The status of a workflow, and what is kept of its steps by their number; status null: there is no such workflow. */
export async function readHistory(
  pool: SystemPool,
  schema: string,
  workflowId: string,
): Promise<{ readonly status: string | null; readonly steps: ReadonlyMap<number, StepResult> }> {
  const { rows } = await pool.query(
    `select s.status, o.function_id as step, o.output, o.error, o.child_workflow_id as "childWorkflowID",
            o.function_name as "functionName", o.serialization
       from "${schema}".workflow_status s left join "${schema}".operation_outputs o using (workflow_uuid)
      where s.workflow_uuid = $1`,
    [workflowId],
  );
  const kept = rows.filter((row) => row['step'] !== null);
  return {
    status: (rows[0]?.['status'] as string | undefined) ?? null,
    // Columns as DBOS made them.
    steps: new Map(kept.map((row) => [Number(row['step']), row as unknown as StepResult])),
  };
}

export async function readStatus(pool: SystemPool, schema: string, workflowId: string): Promise<string | null> {
  const look = `select status from "${schema}".workflow_status where workflow_uuid = $1`;
  const { rows } = await pool.query(look, [workflowId]);
  return (rows[0]?.['status'] as string | undefined) ?? null;
}

/**
 * Keeps a step, if its execution still owns the workflow, whose row is held while it is written: what the three statements of
 * a transaction of DBOS do, in one. With it goes the outcome of the call that the step was, if it was one: both are kept, or
 * neither. Resolves to when the step that is kept was completed: one that was kept before stays. Null: the workflow is
 * cancelled, someone else's, or the call has another outcome, and is not one that only this execution can have ended.
 */
export async function saveStep(
  pool: SystemPool,
  schema: string,
  step: Checkpoint,
  call: KeptOutcome | null,
): Promise<number | null> {
  const { rows } = await pool.query(call === null ? keptAlone(schema) : keptWithOutcome(schema), [
    ...valuesOfStep(step),
    ...(call === null ? [] : [...CALL_COLUMNS.map((column) => call[column]), call.isNew === true]),
  ]);
  return rows[0] === undefined ? null : Number(rows[0]['at']);
}

/**
 * Keeps what a workflow gave, and ends it, if its execution still owns it. False: it is cancelled or someone else's, and nothing
 * is kept.
 */
export async function saveOutput(
  pool: SystemPool,
  schema: string,
  ended: { readonly workflowId: string; readonly owner: string; readonly output: string | null },
): Promise<boolean> {
  const { rows } = await pool.query(
    `with ended as (
       update "${schema}".workflow_status
          set status = 'SUCCESS', owner_xid = null, deduplication_id = null,
              updated_at = ${NOW_MS},
              completed_at = ${NOW_MS}
        where workflow_uuid = $1 and status = 'PENDING' and owner_xid = $2
       returning workflow_uuid
     ) insert into "${schema}".workflow_output (workflow_uuid, output, error)
       select workflow_uuid, $3::text, null from ended
       on conflict (workflow_uuid) do update set output = excluded.output, error = excluded.error
       returning 1 as kept`,
    [ended.workflowId, ended.owner, ended.output],
  );
  return rows.length > 0;
}

/** A step that is to be kept, with the outcome of the call that it was; null: it was none. */
export interface StepToSave {
  readonly step: Checkpoint;
  readonly call: KeptOutcome | null;
}

/**
 * Keeps several steps by one statement and one commit, each by the rules of `saveStep`: what becomes of one row touches no other.
 * No two of them may be of one step, or of one call. Resolves to what `saveStep` says of each, in their order.
 */
export async function saveSteps(
  pool: SystemPool,
  schema: string,
  steps: readonly StepToSave[],
): Promise<readonly (number | null)[]> {
  const { rows } = await pool.query(keptTogether(schema), [JSON.stringify(steps.map(givenOf))]);
  const at = new Map(rows.map((row) => [Number(row['n']), Number(row['at'])]));
  return steps.map((_step, n) => at.get(n) ?? null);
}

const intoSteps = (schema: string): string =>
  `insert into "${schema}".operation_outputs as o
       (workflow_uuid, function_id, output, error, function_name, child_workflow_id, started_at_epoch_ms,
        completed_at_epoch_ms, serialization, application_name, retention_timestamp)`;
const FIRST_STEP_STANDS =
  'on conflict (workflow_uuid, function_id) do update set completed_at_epoch_ms = o.completed_at_epoch_ms';
/** Also where a statement is sent again because its answer was lost. */
const FIRST_OUTCOME_STANDS = `on conflict (run_id, call_id) do update
        set outcome = coalesce(c.outcome, excluded.outcome), finished_at = coalesce(c.finished_at, excluded.finished_at)`;

const STEP_COLUMNS = [
  ...(['workflow_id', 'owner', 'function_id', 'output', 'error', 'function_name', 'child_workflow_id'] as const),
  ...(['started_at', 'completed_at', 'serialization', 'application_name'] as const),
];

const TYPES: { readonly [column: string]: string } = {
  ...{ function_id: 'int', started_at: 'bigint', completed_at: 'bigint', epoch: 'int', is_new: 'boolean' },
};

const GIVEN = [...STEP_COLUMNS, ...CALL_COLUMNS, 'is_new'];

const typed = (column: string): string => `${column} ${TYPES[column] ?? 'text'}`;

const valuesOfStep = (step: Checkpoint): readonly unknown[] => [
  ...[step.workflowId, step.owner, step.functionId, step.output, step.error, step.functionName],
  ...[step.childWorkflowID, step.startedAt, step.completedAt, step.serialization, step.application],
];

const givenOf = ({ step, call }: StepToSave, n: number): object => ({
  ...{ workflow_id: step.workflowId, owner: step.owner, function_id: step.functionId, output: step.output },
  ...{ error: step.error, function_name: step.functionName, child_workflow_id: step.childWorkflowID },
  ...{ started_at: step.startedAt, completed_at: step.completedAt, serialization: step.serialization },
  ...{ application_name: step.application, is_new: call?.isNew === true, n },
  ...(call !== null && Object.fromEntries(CALL_COLUMNS.map((column) => [column, call[column]]))),
});

/**
 * One statement for any number of steps, so that each connection plans it once. Rows are held in the order of their names: two statements
 * that hold several do not wait for each other.
 */
const keptTogether = (schema: string): string =>
  `with given as (
     select n, ${GIVEN.join(', ')} from json_to_recordset($1::json) as g (n int, ${GIVEN.map(typed).join(', ')})
      order by workflow_id),
   owned as (
     select n, ${GIVEN.join(', ')} from given g cross join lateral (
       select from "${schema}".workflow_status s where s.workflow_uuid = g.workflow_id and s.owner_xid = g.owner for no key update) s),
   settled as (
     insert into holdfast.calls as c (${CALL_COLUMNS.join(', ')}, finished_at)
     select ${CALL_COLUMNS.join(', ')}, now() from owned where call_id is not null
     ${FIRST_OUTCOME_STANDS}
     returning run_id, call_id, outcome),
   standing as (
     select ${['n', ...GIVEN].map((column) => `o.${column}`).join(', ')}
       from owned o left join settled s on s.run_id = o.run_id and s.call_id = o.call_id
      where o.call_id is null or o.is_new or s.outcome = o.outcome),
   kept as (
     ${intoSteps(schema)}
     select workflow_id, function_id, output, error, function_name, child_workflow_id, started_at, completed_at,
            serialization, application_name, ${NOW_MS}
       from standing
     ${FIRST_STEP_STANDS}
     returning workflow_uuid, function_id, completed_at_epoch_ms)
   select s.n, k.completed_at_epoch_ms as at
     from kept k join standing s on s.workflow_id = k.workflow_uuid and s.function_id = k.function_id`;

const owned = (schema: string): string =>
  `owned as (select from "${schema}".workflow_status where workflow_uuid = $1 and owner_xid = $2 for no key update)`;

const kept = (schema: string, from: string): string =>
  `kept as (
     ${intoSteps(schema)}
     select $1, $3::int, $4::text, $5::text, $6::text, $7::text, $8::bigint, $9::bigint, $10::text, $11::text,
            ${NOW_MS}
       from ${from}
     ${FIRST_STEP_STANDS}
     returning completed_at_epoch_ms)
   select completed_at_epoch_ms as at from kept`;

const keptAlone = (schema: string): string => `with ${owned(schema)}, ${kept(schema, 'owned')}`;

const keptWithOutcome = (schema: string): string =>
  `with ${owned(schema)}, settled as (
     insert into holdfast.calls as c (${CALL_COLUMNS.join(', ')}, finished_at)
     select ${CALL_COLUMNS.map((column, index) => `$${index + 12}::${column === 'epoch' ? 'int' : 'text'}`).join(', ')}, now()
       from owned
     ${FIRST_OUTCOME_STANDS}
     returning outcome = $${12 + CALL_COLUMNS.indexOf('outcome')} or $${12 + CALL_COLUMNS.length}::boolean as stands
   ), ${kept(schema, 'settled where stands')}`;
