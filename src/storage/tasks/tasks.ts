import type { Knex } from 'knex';
import { canonical, type JsonObject, jsonObject } from '../../core/json.js';
import { isOver, type RunStatus } from '../../core/runs/run.js';
import type { TaskView } from '../../core/tasks/task.js';
import { taskDefinition } from '../../core/tasks/task-definition.js';
import type { TaskRetries } from '../../core/tasks/task-retries.js';
import { trajectoryResult } from '../../core/trajectories/trajectory-result.js';
import { viewOfRow } from '../database/legible-rows.js';
import { readJson, readJsonIfLegible, readJsonOrNull } from '../database/stored-json.js';
import { recordTaskEnded, recordTaskSubmitted } from './task-events.js';

/** `open`: its run goes on, or another one of it is to follow. Else as its last run ended. */
export type TaskState = 'open' | 'completed' | 'failed' | 'cancelled';

/** A row of `holdfast.tasks` as the driver gives it: int8 as text. */
export interface TaskRow {
  id: string;
  tenant: string;
  definition_hash: string;
  name: string;
  version: string;
  category: string;
  difficulty: string;
  tags: string[];
  agent: string;
  parameters: string;
  seed: string;
  image: string | null;
  reward_function: string | null;
  priority: number;
  metadata: string;
  run_id: string;
  attempts: number;
  /** The terms on which it is tried again, as JSON. */
  retries: string;
  /** When its next attempt is due; null: none is to follow. */
  retry_at: Date | null;
  /** How often a person has put it back. */
  requeues: number;
  /** How many attempts it had had before it was put back last. */
  attempts_before: number;
  status: TaskState;
  result_type: string | null;
  result: string | null;
  reward: number | null;
  verification_passed: boolean | null;
  created_at: Date;
  updated_at: Date;
  completed_at: Date | null;
  /** The key of the batch that it came in; null: it came alone. */
  batch: string | null;
}

export interface NewTask {
  readonly id: string;
  readonly tenant: string;
  readonly definitionHash: string;
  readonly name: string;
  readonly version: string;
  readonly category: string;
  readonly difficulty: string;
  readonly tags: readonly string[];
  readonly agent: string;
  readonly parameters: JsonObject;
  readonly seed: number;
  readonly image: string | null;
  readonly reward: string | null;
  readonly priority: number;
  readonly metadata: JsonObject;
  readonly retries: TaskRetries;
  readonly runId: string;
  readonly batch: string | null;
}

export const tasks = (db: Knex) => db<TaskRow>('holdfast.tasks');

/** Writes a task after its first run, and tells it. */
export async function insertTask(trx: Knex.Transaction, task: NewTask): Promise<void> {
  const { definitionHash, tags, parameters, metadata, retries, runId, seed, reward, ...same } = task;
  await tasks(trx).insert({
    ...same,
    ...{ definition_hash: definitionHash, tags: [...tags], parameters: canonical(parameters) },
    ...{
      metadata: canonical(metadata),
      retries: canonical({ ...retries }),
      run_id: runId,
      seed: String(seed),
      reward_function: reward,
    },
  });
  await recordTaskSubmitted(trx, task);
}

/** A task with the status of its run. */
export type SeenTask = TaskRow & { readonly run_status: RunStatus };

/** Tasks beside their runs. */
export const seenTasks = (db: Knex) =>
  db<SeenTask>('holdfast.tasks as t')
    .join('holdfast.runs as r', 'r.id', 't.run_id')
    .select('t.*', 'r.status as run_status');

export const findTask = (db: Knex, tenant: string, id: string): Promise<SeenTask | undefined> =>
  seenTasks(db).where({ 't.tenant': tenant, 't.id': id }).first();

/** A task of any tenant. */
export const readTask = (db: Knex, id: string): Promise<TaskRow | undefined> => tasks(db).where({ id }).first();

/** The task that a run executes, also one that it does not stand on any more. */
export const taskOfRun = (db: Knex, runId: string): Promise<SeenTask | undefined> =>
  seenTasks(db)
    .whereIn('t.id', (run) => run.select('task_id').from('holdfast.runs').where({ id: runId }))
    .first();

/** How many tasks of a tenant there are of each category. */
export async function countCategories(db: Knex, tenant: string): Promise<Map<string, number>> {
  const rows: { category: string; n: number }[] = await db('holdfast.tasks')
    .where({ tenant })
    .groupBy('category')
    .select('category', db.raw('count(*)::int as n'));
  return new Map(rows.map(({ category, n }) => [category, n]));
}

/** The ids of the tasks that runs execute, by the ids of those. */
export async function tasksOfRuns(db: Knex, runIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows: { id: string; task_id: string }[] = await db('holdfast.runs')
    .whereIn('id', [...runIds])
    .whereNotNull('task_id')
    .select('id', 'task_id');
  return new Map(rows.map(({ id, task_id: task }) => [id, task]));
}

/** Holds the row of a task until the transaction ends, after that of its run. */
export const lockTask = (trx: Knex.Transaction, id: string): Promise<TaskRow | undefined> =>
  tasks(trx).where({ id }).forUpdate().first();

/** Ends a task that waits for its next run. */
export async function cancelOpenTask(trx: Knex.Transaction, id: string, reason: string | null): Promise<void> {
  const result = { type: 'failure', reason: reason ?? 'The task was cancelled.' } as const;
  const now = trx.fn.now() as unknown as Date;
  const [task] = await tasks(trx)
    .where({ id })
    .update({
      status: 'cancelled',
      result_type: result.type,
      result: canonical(result),
      completed_at: now,
      updated_at: now,
      retry_at: null,
    })
    .returning(['tenant', 'run_id', 'attempts']);
  if (task === undefined) return;
  const { tenant, run_id: runId, attempts: attempt } = task;
  await recordTaskEnded(trx, { id, tenant, runId }, { attempt, retried: false, result, reward: null });
}

/** Takes away what a task says of itself beside its definition. How it ended stays, in no words of its own. */
export async function eraseTaskOf(trx: Knex.Transaction, runId: string): Promise<void> {
  const row = await tasks(trx).where({ run_id: runId }).first('result');
  if (row === undefined) return;
  const ended = row.result === null ? null : readJsonIfLegible(trajectoryResult, row.result);
  const words = ended !== null && 'reason' in ended ? { ...ended, reason: ERASED } : ended;
  const left = words?.type === 'partial_success' ? { ...words, missing: [] } : words;
  const erased = { parameters: '{}', metadata: '{}', result: left === null ? null : canonical(left) };
  await tasks(trx).where({ run_id: runId }).update(erased);
}

const ERASED = '(erased)';

/** One that is open while its run is over waits for the next run. */
const statusOf = ({ status, run_status: run }: SeenTask): RunStatus => {
  if (status !== 'open') return status;
  return isOver(run) ? 'queued' : run;
};

/** It failed by an error, and no attempt follows by itself: a person may put it back. */
export const isDead = ({ status, result_type: type }: Pick<TaskRow, 'status' | 'result_type'>): boolean =>
  status === 'failed' && type === 'error';
/** The same in a statement, in the words of the index: `of` names the table there. */
export const deadSql = (of: string): string => `${of}.status = 'failed' and ${of}.result_type = 'error'`;

const difficulty = taskDefinition.shape.difficulty;
const cell = ({ id }: Pick<TaskRow, 'id'>, column: keyof TaskRow) => ({ table: 'tasks', row: id, column });

/** Throws `row_changed`. */
export const taskViewOf = (stored: SeenTask): TaskView =>
  viewOfRow(stored, { table: 'tasks', row: stored.id }, shownTask);

const shownTask = (row: SeenTask): TaskView => ({
  ...{ id: row.id, tenant: row.tenant, name: row.name, version: row.version, definitionHash: row.definition_hash },
  ...{ category: row.category, difficulty: difficulty.parse(row.difficulty), tags: row.tags, agent: row.agent },
  parameters: readJson(jsonObject, row.parameters, cell(row, 'parameters')),
  ...{
    seed: Number(row.seed),
    image: row.image,
    rewardFunction: row.reward_function,
    priority: row.priority,
    batch: row.batch,
  },
  status: statusOf(row),
  ...{ runId: row.run_id, attempts: row.attempts, requeues: row.requeues },
  dead: isDead(row),
  result: readJsonOrNull(trajectoryResult, row.result, cell(row, 'result')),
  ...{ reward: row.reward, verificationPassed: row.verification_passed },
  metadata: readJson(jsonObject, row.metadata, cell(row, 'metadata')),
  ...{ createdAt: row.created_at.toISOString(), updatedAt: row.updated_at.toISOString() },
  retryAt: row.retry_at?.toISOString() ?? null,
  completedAt: row.completed_at?.toISOString() ?? null,
  integrity: [],
});
