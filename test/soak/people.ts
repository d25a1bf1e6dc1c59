import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../../src/core/seeded-random.js';
import type { DecisionRequest, InterruptionView, RunView } from '../../src/index.js';
import { type Door, type Doors, saidBy } from './doors.js';

/** What becomes of a run that no one cancels. */
const ENDS: Readonly<Record<string, string>> = { failer: 'tool_failed', endless: 'limit_turns' };
const AGENTS = ['looker', 'payer', 'pair', 'asker', 'lead', 'boss', 'waiter', 'talker', 'failer', 'endless', 'payer'];
const CANCELLED_PART = 0.12;
const STREAMED_PART = 0.3;
const REFUSED_PART = 0.25;
const SESSIONS = 3;
const AGAIN_MS = 200;

/** A run that was asked for. */
export interface Order {
  readonly key: string;
  readonly agent: string;
  readonly cancelled: boolean;
  /** The code of the error that it should end with; null: none. */
  readonly fails: string | null;
  runId: string | null;
  status: RunView['status'] | null;
  error: string | null;
  /** What the error says. */
  why: string | null;
}

export interface Tally {
  readonly orders: Order[];
  decided: number;
  /** Unsafe calls that a crash had left in doubt. */
  unknown: number;
  streamed: number;
  retried: number;
  readonly problems: string[];
}

interface StepContext {
  readonly seed: string;
  readonly doors: Doors;
  /** Whether the ledger has an entry of a call. */
  readonly happened: (key: string) => boolean;
  /** Whether a worker stands still that may go on with what it had begun: who looks now sees too early. */
  readonly mayStillHappen: () => boolean;
}

export const isOver = (status: RunView['status'] | null): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled';

/** Those who start runs, cancel some, answer what is asked, and try again whatever does not come through. */
export class People {
  readonly tally: Tally = { orders: [], decided: 0, unknown: 0, streamed: 0, retried: 0, problems: [] };
  readonly #world: StepContext;
  #starts = false;
  #works = true;

  constructor(world: StepContext) {
    this.#world = world;
  }

  /** So many that each start one run after the other, and one that decides. */
  begin(lanes: number): void {
    for (let lane = 0; lane < lanes; lane++) void this.#lane();
    void this.#decideAll();
  }

  startRuns(yes: boolean): void {
    this.#starts = yes;
  }

  stop(): void {
    this.#works = false;
  }

  get open(): readonly Order[] {
    return this.tally.orders.filter(({ status }) => !isOver(status));
  }

  async #lane(): Promise<void> {
    for (; this.#works; await sleep(this.#starts ? 0 : AGAIN_MS)) if (this.#starts) await this.#one();
  }

  async #one(): Promise<void> {
    const { seed, doors } = this.#world;
    const key = `soak-${this.tally.orders.length}`;
    const random = seededRandom(`${seed}:${key}`);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
    const door = (): Door => (random() < 0.5 ? doors.http : doors.library);
    const agent = pick(AGENTS);
    const cancelled = random() < CANCELLED_PART;
    const fails = ENDS[agent] ?? null;
    const order: Order = { key, agent, cancelled, fails, runId: null, status: null, error: null, why: null };
    this.tally.orders.push(order);
    const session = agent === 'talker' ? { sessionId: `session-${Math.floor(random() * SESSIONS)}` } : {};
    const started = await this.#withDatabaseRetry(
      () => door().start({ agent, input: key, ...session }, key),
      'session_busy',
    );
    if (started === null) return;
    order.runId = started.id;
    const streaming = new AbortController();
    if (random() < STREAMED_PART) void this.#stream(door(), order, streaming.signal);
    if (cancelled) {
      await sleep(random() * 1500);
      await this.#withDatabaseRetry(() => door().cancel(started.id));
    }
    while (this.#works && !isOver(order.status)) {
      const run = await this.#withDatabaseRetry(() => door().read(started.id, 2000));
      if (run === null) continue;
      if (run.status === 'paused') await sleep(AGAIN_MS);
      order.error = run.error?.code ?? null;
      order.why = run.error?.message ?? null;
      order.status = run.status;
    }
    streaming.abort();
  }

  /** A stream that breaks off is not taken up again: what it has not shown, the log has. */
  async #stream(door: Door, order: Order, signal: AbortSignal): Promise<void> {
    const seen = await door.stream(order.runId ?? '', signal).catch(() => 0);
    if (seen > 0) this.tally.streamed += 1;
  }

  async #decideAll(): Promise<void> {
    for (let n = 0; this.#works; n++) {
      const door = n % 2 === 0 ? this.#world.doors.http : this.#world.doors.library;
      const found = await this.#withDatabaseRetry(() => door.pending());
      for (const item of found ?? []) await this.#decide(door, item);
      await sleep(AGAIN_MS);
    }
  }

  async #decide(door: Door, item: InterruptionView): Promise<void> {
    const { id, runId, kind, wait, callId } = item;
    if (kind === 'event') {
      const key = wait?.kind === 'event' ? wait.key : null;
      if (key !== null) await this.#withDatabaseRetry(() => door.emit('soak', key));
      return;
    }
    if (kind !== 'approval' && kind !== 'question') return;
    const inDoubt = item.reason.code === 'unknown_effect';
    if (inDoubt && this.#world.mayStillHappen()) return;
    const decision = inDoubt ? this.#look(`${runId}:${callId}`) : this.#choose(item);
    const decided = await this.#withDatabaseRetry(() => door.decide(id, decision));
    if (decided === null) return;
    this.tally.decided += 1;
    if (inDoubt) this.tally.unknown += 1;
  }

  #look(key: string): DecisionRequest {
    return this.#world.happened(key) ? { verdict: 'answer', value: 'paid' } : { verdict: 'approve' };
  }

  #choose({ kind, runId, callId }: InterruptionView): DecisionRequest {
    if (kind === 'question') return { verdict: 'answer', value: 'yes' };
    // Ids are new each time; what the seed decides hangs on the order.
    const key = this.tally.orders.find((order) => order.runId === runId)?.key ?? '';
    const random = seededRandom(`${this.#world.seed}:${key}:${callId}`);
    return random() < REFUSED_PART ? { verdict: 'reject' } : { verdict: 'approve' };
  }

  /** Until it comes through. Null: it is so that it cannot be done (any more), or the soak is over. */
  async #withDatabaseRetry<T>(work: () => Promise<T>, worthWaitingFor?: string): Promise<T | null> {
    while (this.#works) {
      try {
        return await work();
      } catch (error) {
        const code = saidBy(error);
        if (code === 'decision_conflict') this.tally.problems.push(String(error));
        if (code !== null && code !== worthWaitingFor) return null;
        this.tally.retried += 1;
        await sleep(AGAIN_MS);
      }
    }
    return null;
  }
}
