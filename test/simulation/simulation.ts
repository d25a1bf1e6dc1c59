import { isWoken, queueKey, queuePriority, wakeText } from '../../src/core/queue/dispatch.js';
import { APPLICATION, RECORDING_VERSION } from '../../src/engine/dbos/recording-version.js';
import { Dispatch } from '../../src/engine/queue/dispatch.js';
import { SEGMENT_QUEUE } from '../../src/engine/queue/segment-queue.js';
import type { Database } from '../../src/storage/database/database.js';
import { type Arrivals, arrivalsOf, type SimulatedRun } from './arrivals.js';
import { type Chances, chances } from './chances.js';
import { type Report, reportOf } from './report.js';
import { Timeline } from './timeline.js';

/**
 * Workers, tenants and runs by a clock of its own: no time passes. What a worker takes next, the dispatcher of the engine decides with its
 * statement on a real database. A run only takes its time.
 */

export interface Simulation {
  readonly seed: number;
  readonly workers: number;
  /** Runs at once under each worker. */
  readonly slots: number;
  readonly tenants: number;
  readonly runs: number;
  readonly arrivals: Arrivals;
  /** How many workers die at half of the time. */
  readonly dying: number;
}

/** A worker hears of a wake after so long, and polls when a run of it has ended. */
const HEARS_MS = [1, 5] as const;
/** What arrives within so long is put in together. */
const TOGETHER_MS = 100;
/** After so long the runs of a dead worker are in the queue again. */
const TAKEOVER_MS = 10_000;
/** So long after half of the arrivals, some workers die. */
const DYING_AT_MS = 20_000;
/** A worker with room looks by itself so often. */
const LOOK_MS = 1_000;

interface Worker {
  readonly name: string;
  readonly dispatch: Dispatch;
  readonly running: Set<string>;
  readonly place: number;
  isAlive: boolean;
  /** When it polls next; null: it need not. */
  pollAt: number | null;
}

export async function simulate(database: Database, options: Simulation): Promise<Report> {
  return new Simulated(database, options).run();
}

class Simulated {
  readonly #database: Database;
  readonly #options: Simulation;
  readonly #chances: Chances;
  readonly #timeline = new Timeline();
  readonly #runs: ReadonlyMap<string, SimulatedRun>;
  readonly #workers: readonly Worker[];
  readonly #ended: string[] = [];
  #left: number;
  #queued = 0;
  readonly #polls = { all: 0, empty: 0, wakes: 0, ms: [] as number[] };

  constructor(database: Database, options: Simulation) {
    this.#database = database;
    this.#options = options;
    this.#chances = chances(options.seed);
    const runs = arrivalsOf(options, this.#chances);
    this.#runs = new Map(runs.map((run) => [run.id, run]));
    this.#left = runs.length;
    this.#workers = Array.from({ length: options.workers }, (_, place) => this.#worker(place));
    const arriving = new Map<number, SimulatedRun[]>();
    for (const run of runs) {
      const at = Math.ceil(run.at / TOGETHER_MS) * TOGETHER_MS;
      const together = arriving.get(at);
      if (together === undefined) arriving.set(at, [run]);
      else together.push(run);
    }
    for (const [at, together] of arriving) this.#timeline.at(at, () => this.#enqueue(together, 'new'));
    const half = (runs.at(-1)?.at ?? 0) / 2 + DYING_AT_MS;
    for (const worker of this.#workers.slice(0, options.dying)) this.#timeline.at(half, () => this.#die(worker));
  }

  #worker(place: number): Worker {
    const running = new Set<string>();
    const dispatch = new Dispatch({
      ...{ database: this.#database, worker: `worker-${place}`, self: `worker-${place}` },
      capacity: () => this.#options.slots,
      waker: { wake: () => undefined, taken: () => undefined },
      containers: { wanted: () => ({ deferContainersMs: 0, engine: '', engineAwayMs: 0, offer: '{}' }) },
      metrics: { dispatched: () => undefined },
    });
    return { ...{ name: `worker-${place}`, dispatch, running, place }, isAlive: true, pollAt: null };
  }

  async run(): Promise<Report> {
    while (this.#left > 0) {
      const next = this.#timeline.next();
      if (next === undefined) throw new Error(`${this.#left} runs were never taken`);
      await next();
    }
    for (const { dispatch } of this.#workers) dispatch.close();
    return reportOf([...this.#runs.values()], { ...this.#polls, endedAt: this.#timeline.now });
  }

  async #enqueue(runs: readonly SimulatedRun[], band: 'new' | 'resumed'): Promise<void> {
    const rows = runs.map((run) => ({
      ...{ workflow_uuid: run.id, status: 'ENQUEUED', name: 'holdfast.segment', queue_name: SEGMENT_QUEUE },
      ...{ application_version: String(RECORDING_VERSION), application_name: APPLICATION, created_at: run.at },
      ...{ updated_at: run.at, priority: queuePriority(band, run.priority) },
      ...{ queue_partition_key: queueKey(run.tenant, 'agent'), executor_id: null, owner_xid: null },
    }));
    if (band === 'new') await this.#database.knex.batchInsert('dbos.workflow_status', rows, 500);
    else
      await this.#database
        .knex('dbos.workflow_status')
        .whereIn('workflow_uuid', [...runs.map(({ id }) => id)])
        .update({ status: 'ENQUEUED', executor_id: null, owner_xid: null, priority: queuePriority('resumed', 1) });
    this.#queued += runs.length;
    this.#polls.wakes++;
    const [text, others] = [wakeText('api', runs.length), this.#workers.length];
    for (const worker of this.#workers)
      if (isWoken(text, worker.name, others, this.#chances.share()))
        this.#wake(worker, HEARS_MS[0] + this.#chances.below(HEARS_MS[1]));
      else this.#look(worker, this.#chances.below(LOOK_MS));
  }

  /** A worker without room polls when it has some. */
  #wake(worker: Worker, inMs: number): void {
    const at = this.#timeline.now + inMs;
    if (!worker.isAlive || worker.running.size >= this.#options.slots) return;
    if (worker.pollAt !== null && worker.pollAt <= at) return;
    worker.pollAt = at;
    this.#timeline.at(at, () => (worker.pollAt === at ? this.#poll(worker) : Promise.resolve()));
  }

  async #poll(worker: Worker): Promise<void> {
    worker.pollAt = null;
    if (!worker.isAlive) return;
    await this.#settle();
    const begin = performance.now();
    const taken = await worker.dispatch.take({ running: worker.running.size, owner: worker.name });
    this.#polls.ms.push(performance.now() - begin);
    this.#polls.all++;
    this.#queued -= taken.length;
    if (taken.length === 0) this.#polls.empty++;
    for (const id of taken) this.#begin(worker, id);
    this.#look(worker, LOOK_MS);
  }

  /** A look by itself. One into an empty queue would take real time and find nothing. */
  #look(worker: Worker, inMs: number): void {
    if (this.#queued === 0) return;
    this.#timeline.at(this.#timeline.now + inMs, async () => {
      if (this.#queued > 0) this.#wake(worker, 0);
    });
  }

  #begin(worker: Worker, id: string): void {
    const run = this.#runs.get(id);
    if (run === undefined) throw new Error(`${id} is no run of the simulation`);
    if (run.worker !== null) throw new Error(`${worker.name} took ${id}, which ${run.worker} executes`);
    if (run.endedAt !== null) throw new Error(`${worker.name} took ${id}, which is over`);
    run.worker = worker.name;
    run.begunAt ??= this.#timeline.now;
    worker.running.add(id);
    this.#timeline.at(this.#timeline.now + run.takesMs, async () => {
      if (!worker.isAlive) return;
      worker.running.delete(id);
      run.endedAt = this.#timeline.now;
      this.#ended.push(id);
      this.#left--;
      this.#wake(worker, 0);
    });
  }

  /** What has ended since the last poll is over in the database, too. */
  async #settle(): Promise<void> {
    const ids = this.#ended.splice(0);
    if (ids.length > 0)
      await this.#database.knex('dbos.workflow_status').whereIn('workflow_uuid', ids).update({ status: 'SUCCESS' });
  }

  async #die(worker: Worker): Promise<void> {
    worker.isAlive = false;
    const left = [...worker.running].map((id) => this.#runs.get(id)).filter((run) => run !== undefined);
    this.#timeline.at(this.#timeline.now + TAKEOVER_MS, async () => {
      for (const run of left) run.worker = null;
      if (left.length > 0) await this.#enqueue(left, 'resumed');
    });
  }
}
