import type { Knex } from 'knex';
import { HoldfastError } from '../../core/errors/errors.js';
import { canonical, type JsonObject, type JsonValue } from '../../core/json.js';
import { isOver, OVER, type RunLimits, type RunStatus, type Usage } from '../../core/runs/run.js';
import { releasingSessions } from '../agents/sessions.js';
import { assumeLost } from '../budgets/budgets.js';
import { costOfEach } from '../budgets/charges.js';
import { timeOrNull } from '../database/legible-rows.js';
import { endTask } from '../tasks/end-task.js';
import { trajectoriesDue } from '../trajectories/trajectories-due.js';
import { runColumns } from './run-columns.js';
import { insertDeadline } from './run-deadlines.js';
import { errorOf, type RunRow } from './run-row.js';

export interface NewRun {
  readonly id: string;
  readonly tenant: string;
  readonly agent: string;
  readonly agentVersion: string;
  readonly agentHash: string;
  /** Null or left out: its agent has none. */
  readonly scaffold?: string | null;
  readonly priority: number;
  readonly input: JsonValue;
  readonly grants: readonly JsonObject[];
  readonly limits: RunLimits;
  readonly metadata: JsonObject;
  /** Null or left out: as the agent says. */
  readonly stream?: boolean | null;
  readonly fork?: NewFork;
  readonly taskId?: string | null;
  /** The call that starts it, the runs above it (topmost first), and what is left of their time in milliseconds. */
  readonly parent?: {
    readonly runId: string;
    readonly callId: string;
    readonly ancestors: readonly string[];
    readonly timeLeftMs: number | null;
  };
}

/** Where a run begins that takes over a part of another one's log. */
export interface NewFork {
  readonly runId: string;
  readonly seq: number;
  readonly recordedSeq: number;
  readonly segment: number;
  readonly turns: number;
  readonly usage: Usage;
  readonly model: string | null;
}

export const runs = (db: Knex) => db<RunRow>('holdfast.runs');

export async function insertRun(trx: Knex, run: NewRun): Promise<RunRow> {
  const rows = await runs(trx)
    .insert({
      id: run.id,
      tenant: run.tenant,
      agent: run.agent,
      agent_version: run.agentVersion,
      agent_hash: run.agentHash,
      scaffold: run.scaffold ?? null,
      status: 'queued',
      priority: run.priority,
      input: canonical(run.input),
      grants: canonical(run.grants),
      limits: canonical(run.limits),
      metadata: canonical(run.metadata),
      ...(run.fork === undefined ? {} : forkColumns(run.fork)),
      stream: run.stream ?? null,
      task_id: run.taskId ?? null,
      cost_nano_usd: '0',
      ...(run.parent === undefined
        ? {}
        : {
            parent_run_id: run.parent.runId,
            parent_call_id: run.parent.callId,
            ancestors: canonical(run.parent.ancestors),
            time_left_ms: run.parent.timeLeftMs === null ? null : String(run.parent.timeLeftMs),
          }),
    })
    .returning(runColumns(trx));
  await insertDeadline(trx, run);
  // What is inserted comes back.
  return rows[0] as RunRow;
}

const forkColumns = (fork: NewFork): Partial<RunRow> => ({
  forked_from_run_id: fork.runId,
  forked_from_seq: fork.seq,
  recorded_seq: fork.recordedSeq,
  segment: fork.segment,
  turns: fork.turns,
  input_tokens: String(fork.usage.inputTokens),
  output_tokens: String(fork.usage.outputTokens),
  total_tokens: String(fork.usage.totalTokens),
  model: fork.model,
});

/**
 * Reads a run and holds its row until the transaction ends. Lock a parent before its child, a run before its head. The row of a
 * run is also held, as a key, by the code that writes an event of it: a lock of the key, too, would be waited for the other way round.
 */
export const lockRun = (trx: Knex.Transaction, id: string): Promise<RunRow | undefined> =>
  runs(trx).where({ id }).forNoKeyUpdate().first(runColumns(trx));

interface WorkStart {
  readonly runId: string;
  readonly segment: number;
  readonly at: Date;
}

/** Makes a run `running`, if this is its segment and it is not over. Undefined: it is not. */
export async function startWork(db: Knex, start: WorkStart): Promise<RunRow | undefined> {
  const [row] = await startingWork(db, start);
  return row as RunRow | undefined;
}

export const startingWork = (db: Knex, { runId, segment, at }: WorkStart) =>
  runs(db)
    .where({ id: runId, segment })
    .whereNotIn('status', [...OVER])
    .update({ status: 'running', segment_started_at: at, updated_at: db.fn.now() as unknown as Date })
    .returning(runColumns(db));

export const findRun = (db: Knex, tenant: string, id: string): Promise<RunRow | undefined> =>
  runs(db).where({ tenant, id }).first(runColumns(db));

export const findStatus = async (db: Knex, tenant: string, id: string): Promise<RunStatus | undefined> =>
  (await runs(db).where({ tenant, id }).first('status'))?.status;

/** A run of any tenant. */
export const readRun = (db: Knex, id: string): Promise<RunRow | undefined> =>
  runs(db).where({ id }).first(runColumns(db));

/**
 * The one place where a run ends: no matter who ends it, or how, the session that it was in is free, its trajectory is due, the task
 * that it executes has its result, and what it cost is the sum of its charges, and none is reserved any more. Gives the run as it is
 * now.
 */
export async function updateRun(trx: Knex.Transaction, id: string, change: Partial<RunRow>): Promise<RunRow> {
  const [row] = await updateRuns(trx, [id], change);
  // Its row is locked, and there.
  return row as RunRow;
}

/** The same for runs that end alike, in as many statements as for one. */
export async function updateRuns(
  trx: Knex.Transaction,
  ids: readonly string[],
  change: Partial<RunRow>,
): Promise<readonly RunRow[]> {
  const ends = change.status !== undefined && isOver(change.status);
  // Before the sum: what is settled in this moment is waited for, and counted.
  if (ends) await assumeLost(trx, ids);
  const cost = ends ? { cost_nano_usd: costOfEach(trx) } : {};
  const update = runs(trx)
    .whereRaw('id = any(?)', [[...ids]])
    .update({ ...change, ...cost, updated_at: trx.fn.now() as unknown as Date })
    .returning(runColumns(trx));
  if (ends) update.with('released', releasingSessions(trx, ids)).with('due', trajectoriesDue(trx, ids));
  // All of their columns are asked for.
  const rows = (await update) as readonly RunRow[];
  for (const run of ends ? rows : [])
    if (run.task_id !== null)
      await endTask(trx, { runId: run.id, status: run.status, error: errorOf(run), cancelReason: run.cancel_reason });
  return rows;
}

/** Throws `run_erased` where the content of a run is needed, and was erased. */
export function assertNotErased({ id, erased_at: at }: RunRow): void {
  if (at === null) return;
  const when = timeOrNull(at);
  throw new HoldfastError('run_erased', `The content of run ${id} was erased${when === null ? '' : ` at ${when}`}.`);
}

/** Which of these runs someone asked to stop. */
export async function cancelledAmong(db: Knex, ids: readonly string[]): Promise<string[]> {
  const rows = await runs(db).whereIn('id', ids).whereNotNull('cancel_requested_at').select('id');
  return rows.map((row) => row.id);
}
