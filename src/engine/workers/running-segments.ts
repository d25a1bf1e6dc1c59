import { workflowIdOf } from '../../storage/dbos/workflow-id.js';

/** A run at work, and since when nothing was heard of it; null: it waits for its turn, or that was told already. */
interface Running {
  readonly stop: AbortController;
  silentSinceMs: number | null;
}

/** The segments that work in this process, and how to stop what they have in flight. */
export class RunningSegments {
  readonly #running = new Map<string, Running>();
  readonly #present = new Map<string, number>();

  /** Workflow ids of the segments that are executed, from their first line to their last. */
  get workflowIds(): readonly string[] {
    return [...this.#present.keys()];
  }

  arrive(runId: string, segment: number): { readonly exit: () => void } {
    const id = workflowIdOf(runId, segment);
    this.#present.set(id, (this.#present.get(id) ?? 0) + 1);
    const exit = (): void => {
      const left = (this.#present.get(id) ?? 1) - 1;
      if (left > 0) this.#present.set(id, left);
      else this.#present.delete(id);
    };
    return { exit };
  }

  has(runId: string): boolean {
    return this.#running.has(runId);
  }

  get runIds(): string[] {
    return [...this.#running.keys()];
  }

  /** Watches a run until `release`. The reason of the signal is `cancelled`, `limit_wall_time` or `stalled`. */
  watch(runId: string, remainingMs: number | null): { readonly signal: AbortSignal; readonly release: () => void } {
    const stop = new AbortController();
    const one: Running = { stop, silentSinceMs: performance.now() };
    this.#running.set(runId, one);
    const silence = remainingMs === null ? () => {} : alarm(remainingMs, () => stop.abort('limit_wall_time'));
    const release = (): void => {
      silence();
      if (this.#running.get(runId) === one) this.#running.delete(runId);
    };
    return { signal: stop.signal, release };
  }

  cancel(runId: string): void {
    this.#running.get(runId)?.stop.abort('cancelled');
  }

  /** A step of it has begun or ended. */
  moved(runId: string): void {
    this.#hear(runId, performance.now());
  }

  /** It waits for others before its next step. */
  waits(runId: string): void {
    this.#hear(runId, null);
  }

  /** Its silence was told: nothing more is said of it until it moves. */
  told(runId: string): void {
    this.#hear(runId, null);
  }

  #hear(runId: string, ms: number | null): void {
    const one = this.#running.get(runId);
    if (one !== undefined) one.silentSinceMs = ms;
  }

  /** Runs that were silent for so long. */
  silent(afterMs: number): readonly { readonly runId: string; readonly silentMs: number }[] {
    const now = performance.now();
    return [...this.#running].flatMap(([runId, { silentSinceMs }]) =>
      silentSinceMs === null || now - silentSinceMs < afterMs ? [] : [{ runId, silentMs: now - silentSinceMs }],
    );
  }

  stall(runId: string): void {
    this.#running.get(runId)?.stop.abort('stalled');
  }
}

/** The longest time of one timer: beyond it Node's fire at once. A longer time is taken in pieces. */
const PIECE_MS = 2 ** 31 - 1;

/**
 * Rings once after so many milliseconds, and does not keep the process. Gives back how to silence it. Time that is over rings
 * at once: a timer comes only when nothing else is to do.
 */
function alarm(ms: number, ring: () => void): () => void {
  if (ms <= 0) {
    ring();
    return () => {};
  }
  let timer: NodeJS.Timeout | undefined;
  const wait = (left: number): void => {
    const piece = Math.min(left, PIECE_MS);
    timer = setTimeout(() => (left > piece ? wait(left - piece) : ring()), piece).unref();
  };
  wait(ms);
  return () => clearTimeout(timer);
}
