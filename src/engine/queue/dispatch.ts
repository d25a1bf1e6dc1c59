import { AsyncResource } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { Metrics } from '../../metrics/metrics.js';
import type { Database } from '../../storage/database/database.js';
import { notify } from '../../storage/database/transactions.js';
import { type Dequeued, dequeue } from '../../storage/dbos/dequeue.js';
import type { EngineWatch } from '../containers/engine-watch.js';
import type { DequeueHooks, QueueExecutor } from '../dbos/dequeue-hook.js';
import { APPLICATION, RECORDING_VERSION } from '../dbos/recording-version.js';
import { type DispatchWaker, SEGMENT_QUEUE, type Slot, WAKE_CHANNEL } from './segment-queue.js';

/** Tenants whose turn is remembered. */
const TENANTS_MAX = 1000;
/** Beyond it the dispatcher looks by itself before. */
const LOOK_WITHIN_MS = 1000;
/** What one look may ask again: others may be faster, and limits let some through only after others. */
const TRIES_MAX = 20;

export interface DispatchOptions {
  readonly database: Database;
  readonly worker: string;
  /** By what the others hear that this process has woken them. */
  readonly self: string;
  readonly waker: Pick<DispatchWaker, 'wake' | 'taken'>;
  /** How many may be at work in this process: what the database says of the queue is perhaps another one's. */
  readonly capacity: () => number;
  /** Which runs that need a container are left to others, at the moment of a look. */
  readonly containers: Pick<EngineWatch, 'wanted'>;
  readonly metrics: Pick<Metrics, 'dispatched'>;
}

/** What this worker takes out of the queue, when, and whom it tells of room that has become free. */
export class Dispatch implements DequeueHooks {
  readonly #options: DispatchOptions;
  /** Whose turn was when: who was served last comes last. */
  #served: readonly string[] = [];
  #after = '';
  #limited = false;
  #leaves = false;
  #timer: NodeJS.Timeout | undefined;
  #telling = false;
  #toTell = false;
  #executor: QueueExecutor | null = null;
  #slots = 0;
  /** How many a look under way may take. */
  #wanted = 0;
  /** What the last look has taken, and has not begun. */
  readonly #taken = new Set<string>();
  /** No segment is a part of the request, or of the run, that resumed its run. */
  readonly #outside = new AsyncResource('Dispatch');

  constructor(options: DispatchOptions) {
    this.#options = options;
  }

  /** From here on slots are given. */
  executeWith(executor: QueueExecutor | null): void {
    this.#executor = executor;
  }

  /** A slot of this process; null: none is free, or a look under way may need it. */
  readonly reserve = (): Slot | null => {
    const executor = this.#executor;
    if (executor === null || this.#limited) return null;
    const present = executor.running() + this.#slots + this.#wanted + this.#taken.size;
    if (present >= this.#options.capacity()) return null;
    this.#slots++;
    const owner = randomUUID();
    let isKept = true;
    const release = (): void => {
      if (isKept) this.#slots--;
      isKept = false;
    };
    const start: Slot['start'] = (workflowId, around) => {
      this.#options.metrics.dispatched(0);
      const execute = () => around(() => executor.start(workflowId, owner));
      void this.#outside.runInAsyncScope(execute).finally(release);
    };
    return { owner, start, release };
  };

  readonly take: DequeueHooks['take'] = async ({ running, owner }) => {
    // What the look before has taken works by now, or never will.
    this.#taken.clear();
    this.#wanted = Math.max(0, this.#options.capacity() - running - this.#slots);
    try {
      const ids = await this.#look(this.#wanted, owner);
      for (const id of ids) this.#taken.add(id);
      return ids;
    } finally {
      this.#wanted = 0;
    }
  };

  readonly began = (workflowId: string): void => void this.#taken.delete(workflowId);

  async #look(capacity: number, owner: string): Promise<readonly string[]> {
    const ids: string[] = [];
    if (capacity > 0) this.#options.waker.taken();
    let next = Number.POSITIVE_INFINITY;
    let fromTheFirst = false;
    let leaves = false;
    for (let tries = 0; ids.length < capacity && tries < TRIES_MAX; tries++) {
      const from = this.#after;
      fromTheFirst ||= from === '';
      const wasLimited = this.#limited;
      const found = await this.#once(capacity - ids.length, owner).catch((error: unknown) => {
        // What was taken before must work; what else there is waits for the next look.
        if (ids.length === 0) throw error;
        return null;
      });
      if (found === null) break;
      ids.push(...found.ids);
      leaves ||= found.leaves;
      next = Math.min(next, found.nextInMs ?? next);
      const all = found.limited === wasLimited && found.chosen === (found.limited ? 0 : found.ids.length);
      if (!all) this.#after = from;
      else if (fromTheFirst && this.#after === '') break;
    }
    if (capacity > 0) this.#leaves = leaves;
    this.#lookIn(next);
    return ids;
  }

  async #once(capacity: number, owner: string): Promise<Dequeued> {
    const { database, worker, metrics, containers } = this.#options;
    const wanted = {
      ...{ queue: SEGMENT_QUEUE, executor: worker, version: String(RECORDING_VERSION), application: APPLICATION },
      ...{ owner, capacity, served: this.#served, after: this.#after, ...containers.wanted() },
    };
    const found = await dequeue(database, wanted, this.#limited ? 'kept' : 'none');
    for (const ms of found.waited) metrics.dispatched(ms / 1000);
    this.#limited = found.limited;
    this.#after = found.after;
    const now = new Set(found.tenants);
    this.#served = [...this.#served.filter((one) => !now.has(one)), ...now].slice(-TENANTS_MAX);
    return found;
  }

  /** Whether the last look left runs that need a container to workers with an engine. */
  readonly defersContainers = (): boolean => this.#leaves;

  /** When a rate lets the next run begin, no one else wakes the dispatcher. */
  #lookIn(ms: number): void {
    clearTimeout(this.#timer);
    if (ms < LOOK_WITHIN_MS) this.#timer = setTimeout(this.#options.waker.wake, Math.max(1, Math.ceil(ms))).unref();
  }

  /** A segment has ended here: there is room in this process, and under limits perhaps for others. */
  readonly ended = (): void => {
    this.#options.waker.wake();
    if (!this.#limited) return;
    this.#toTell = true;
    if (!this.#telling) void this.#tell();
  };

  async #tell(): Promise<void> {
    const { database, self } = this.#options;
    this.#telling = true;
    while (this.#toTell) {
      this.#toTell = false;
      // The one that is not told looks within a second.
      await notify(database.knex, WAKE_CHANNEL, [self]).catch(() => undefined);
    }
    this.#telling = false;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#toTell = false;
  }
}
