import type { Knex } from 'knex';
import { z } from 'zod';
import { canonical } from '../../core/json.js';
import type { Sketch } from '../../core/trajectories/sketch.js';
import type { Trajectory } from '../../core/trajectories/trajectory.js';
import type { TrajectoryResult } from '../../core/trajectories/trajectory-result.js';
import { appendSystemEvent } from '../ops/system-events.js';
import type { RunRow } from '../runs/run-row.js';

/** A row of `holdfast.trajectories` as the driver gives it. */
export interface TrajectoryRow {
  run_id: string;
  tenant: string;
  agent: string;
  task_id: string | null;
  tags: string[];
  models: string[];
  result: TrajectoryResult['type'];
  reward: number | null;
  steps: number;
  counts: string;
  quality: number | null;
  diversity: number;
  sketch: string;
  score_version: number;
  created_at: Date;
  completed_at: Date;
}

const sketchShape = z.array(z.number());

/** What the runs before this one did: up to a number of those of its task, or else of its agent, the newest first. */
export async function sketchesBefore(
  db: Knex,
  {
    runId,
    tenant,
    agent,
    taskId,
  }: { readonly runId: string; readonly tenant: string; readonly agent: string; readonly taskId: string | null },
  limit: number,
): Promise<readonly Sketch[]> {
  const rows: Pick<TrajectoryRow, 'sketch'>[] = await db('holdfast.trajectories as t')
    .where(taskId === null ? { 't.tenant': tenant, 't.agent': agent } : { 't.tenant': tenant, 't.task_id': taskId })
    .whereRaw('(t.created_at, t.run_id) < (select r.created_at, r.id from holdfast.runs r where r.id = ?)', [runId])
    .orderBy([
      { column: 't.created_at', order: 'desc' },
      { column: 't.run_id', order: 'desc' },
    ])
    .limit(limit)
    .select('t.sketch');
  return rows.map(({ sketch }) => sketchShape.parse(JSON.parse(sketch)));
}

/** Keeps what lists are narrowed by, once, and tells it: under the lock of the run's row. False: it was kept before. */
export async function insertTrajectory(
  trx: Knex.Transaction,
  run: Pick<RunRow, 'id' | 'tenant'>,
  whole: Omit<Trajectory, 'steps' | 'input' | 'output'>,
  {
    sketch,
    diversity,
    result,
  }: { readonly sketch: Sketch; readonly diversity: number; readonly result: TrajectoryResult },
): Promise<boolean> {
  const { rowCount }: { rowCount: number } = await trx.raw(
    `insert into holdfast.trajectories
       (run_id, tenant, agent, task_id, tags, models, result, reward, steps, counts, quality, diversity, sketch,
        score_version, created_at, completed_at)
     select r.id, r.tenant, r.agent, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, r.created_at, coalesce(r.completed_at, r.updated_at)
       from holdfast.runs r where r.id = ? on conflict do nothing`,
    [
      ...[whole.taskId, whole.tags, whole.models, result.type, whole.totalReward, whole.totalSteps],
      ...[canonical(whole.counts), whole.qualityScore, diversity, canonical(sketch), whole.scoreVersion, run.id],
    ] as Knex.RawBinding[],
  );
  if (rowCount === 0) return false;
  const { totalReward: reward, totalSteps: steps } = whole;
  const data = { result: result.type, reward, steps };
  await appendSystemEvent(trx, { kind: 'trajectory.stored', tenant: run.tenant, runId: run.id, data });
  return true;
}

/** What somebody said of a run, where its row is there already. Under the lock of the run's row. */
export async function judgeTrajectory(
  trx: Knex.Transaction,
  runId: string,
  { result, reward }: { readonly result: TrajectoryResult; readonly reward: number },
): Promise<void> {
  await trx('holdfast.trajectories').where({ run_id: runId }).update({ result: result.type, reward });
}

/** Null: it is not there yet. */
export async function diversityOfRun(db: Knex, runId: string): Promise<number | null> {
  const row: Pick<TrajectoryRow, 'diversity'> | undefined = await db('holdfast.trajectories')
    .where({ run_id: runId })
    .first('diversity');
  return row?.diversity ?? null;
}
