import type { Knex } from 'knex';
import { z } from 'zod';
import type { Integrity } from '../../core/integrity.js';
import { canonical } from '../../core/json.js';
import type { RewardView } from '../../core/tasks/reward.js';
import type { Sketch } from '../../core/trajectories/sketch.js';
import {
  type RunFacts,
  type StepWindow,
  type Trajectory,
  type TrajectorySummary,
  trajectoryFold,
  trajectoryRunOf,
} from '../../core/trajectories/trajectory.js';
import type { TrajectoryResult } from '../../core/trajectories/trajectory-result.js';
import { asksForEnded, type TrajectoryFilter } from '../../core/trajectories/trajectory-result.js';
import { trajectoryCounts } from '../../core/trajectories/trajectory-score.js';
import type { TurnCharges } from '../budgets/charges.js';
import { seenEnvironment } from '../containers/environments.js';
import { alsoUnread, type Columns, json, shownLegibly } from '../database/legible-rows.js';
import { readJsonIfLegible, readJsonOrNull } from '../database/stored-json.js';
import { breathe } from '../database/timing.js';
import { shownRun } from '../integrity/legible-rows.js';
import { readLoggedEvents } from '../log/read-events.js';
import { appendSystemEvent } from '../ops/system-events.js';
import type { PageRows } from '../runs/page-rows.js';
import { lightRunColumns } from '../runs/run-columns.js';
import { newestFirst, type Placed, whereWithin } from '../runs/run-list.js';
import type { RunRow } from '../runs/run-row.js';

/** A row of `holdfast.trajectories` as the driver gives it. */
interface TrajectoryRow {
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
  // One that cannot be read keeps no other run from its score.
  return rows.flatMap(({ sketch }) => {
    const read = readJsonIfLegible(sketchShape, sketch);
    return read === null ? [] : [read];
  });
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

/** What someone said of a run, where its row is there already. Under the lock of the run's row. */
export async function judgeTrajectory(
  trx: Knex.Transaction,
  runId: string,
  { result, reward }: { readonly result: TrajectoryResult; readonly reward: number },
): Promise<void> {
  await trx('holdfast.trajectories').where({ run_id: runId }).update({ result: result.type, reward });
}

export type Scores = Pick<TrajectoryRow, 'quality'> & { readonly diversity: number | null };

/** The scores of those of these runs that have some. */
export async function scoresOf(db: Knex, runIds: readonly string[]): Promise<ReadonlyMap<string, Scores>> {
  const rows: Pick<TrajectoryRow, 'run_id' | 'quality' | 'diversity'>[] = await db('holdfast.trajectories')
    .whereRaw('run_id = any(?)', [[...runIds]])
    .select('run_id', 'quality', 'diversity');
  return new Map(rows.map(({ run_id: id, ...scores }) => [id, scores]));
}

/** Null: it is not there yet. */
async function diversityOfRun(db: Knex, runId: string): Promise<number | null> {
  const row: Pick<TrajectoryRow, 'diversity'> | undefined = await db('holdfast.trajectories')
    .where({ run_id: runId })
    .first('diversity');
  return row?.diversity ?? null;
}

/** At most so many are in memory at once. */
const EVENTS_AT_ONCE = 100;

/** What of a run only its row, and who judged it, say. Of a row that cannot be read `run.integrity` says so. */
export const runFactsOf = (row: RunRow, reward: RunFacts['reward']): RunFacts => ({
  run: shownRun(row, [], []),
  executionTimeMs: Number(row.active_ms),
  scaffold: row.scaffold,
  cancelReason: row.cancel_reason,
  reward,
});

/** A run, and what is read beside its log. */
interface ReadBeside {
  readonly row: RunRow;
  readonly reward: RewardView | null;
  readonly charges: TurnCharges;
}

/**
 * Reads the log of a run into its record; holds of it the steps of the window, and of the others counts. Throws the reason of the signal
 * when it fires.
 */
export async function readTrajectory(
  db: Knex,
  { row, reward, charges }: ReadBeside,
  window: StepWindow,
  signal?: AbortSignal,
): Promise<{ readonly record: Trajectory; readonly sketch: () => Sketch }> {
  const fold = trajectoryFold(runFactsOf(row, reward), {
    chargesOf: (turn) => charges.get(turn) ?? [],
    window,
    diversityScore: await diversityOfRun(db, row.id),
    environment: await seenEnvironment(db, row.id),
  });
  let after = 0;
  for (;;) {
    const events = await readLoggedEvents(db, row.id, after, EVENTS_AT_ONCE);
    for (const event of events.rows) {
      fold.push(event);
      await breathe(signal);
    }
    if (!events.more) return fold.end();
    after = events.rows.at(-1)?.seq ?? after;
  }
}

type Read = Pick<TrajectoryRow, 'models' | 'steps' | 'counts' | 'quality' | 'diversity' | 'score_version'>;

/** A run, and what its log says of it; null: it was not read yet. */
type ListedRow = Placed<RunRow> & { readonly [C in keyof Read]: Read[C] | null };

/**
 * A page of runs by the time of their creation, newest first, and one more row when there is a next page. What only the log of
 * a run that is over says is answered from the rows of those, in their order; everything else from the runs.
 */
export async function listTrajectoryRows(
  db: Knex,
  tenant: string,
  filter: TrajectoryFilter,
  page: { readonly limit: number; readonly cursor?: string },
): Promise<PageRows<ListedRow>> {
  const by = asksForEnded(filter) ? { table: 't', id: 't.run_id' } : { table: 'r', id: 'r.id' };
  const query = db('holdfast.runs as r')
    [asksForEnded(filter) ? 'join' : 'leftJoin']('holdfast.trajectories as t', 't.run_id', 'r.id')
    .where({ [`${by.table}.tenant`]: tenant })
    .select(lightRunColumns(db, 'r'))
    .select('t.models', 't.steps', 't.counts', 't.quality', 't.diversity', 't.score_version');
  narrow(query, filter, by.table);
  const at = `${by.table}.created_at`;
  return newestFirst(db, query, page, { at, id: by.id, bytes: ROW_BYTES });
}

const ROW_BYTES = `octet_length(r.metadata) + coalesce(octet_length(r.error), 0)`;

function narrow(query: Knex.QueryBuilder, filter: TrajectoryFilter, table: string): void {
  const { result, status, agent, model, task, tag, minReward, maxReward, from, to } = filter;
  if (status !== undefined) query.where({ 'r.status': status });
  if (agent !== undefined) query.where({ [`${table}.agent`]: agent });
  if (from !== undefined) query.whereRaw(`${table}.created_at >= ?::timestamptz`, [new Date(from)]);
  if (to !== undefined) query.whereRaw(`${table}.created_at < ?::timestamptz`, [new Date(to)]);
  if (result !== undefined) query.where({ 't.result': result });
  if (task !== undefined) query.where({ 't.task_id': task });
  if (model !== undefined) query.whereRaw('t.models @> array[?]::text[]', [model]);
  if (tag !== undefined) query.whereRaw('t.tags @> array[?]::text[]', [tag]);
  whereWithin(query, 't.reward', minReward, maxReward);
  whereWithin(query, 't.quality', filter.minQuality, filter.maxQuality);
  whereWithin(query, 't.diversity', filter.minDiversity, filter.maxDiversity);
}

const COLUMNS: Columns<ListedRow> = { counts: json(trajectoryCounts, null) };

/** A run in a list, also where what was kept of its log cannot be read. */
export function shownSummary(row: ListedRow, reward: RewardView | null, integrity: Integrity): TrajectorySummary {
  const of = { table: 'trajectories', id: row.id, columns: COLUMNS };
  const { view, unread } = shownLegibly(row, of, (one) => summaryOf(one, reward, integrity));
  return { ...view, integrity: alsoUnread(integrity, unread) };
}

const summaryOf = (row: ListedRow, reward: RewardView | null, integrity: Integrity): TrajectorySummary => ({
  ...trajectoryRunOf(runFactsOf(row, reward)),
  model: row.models?.[0] ?? null,
  models: row.models ?? [],
  totalSteps: row.steps,
  counts: readJsonOrNull(trajectoryCounts, row.counts, { table: 'trajectories', row: row.id, column: 'counts' }),
  qualityScore: row.quality,
  diversityScore: row.diversity,
  scoreVersion: row.score_version,
  integrity,
});
