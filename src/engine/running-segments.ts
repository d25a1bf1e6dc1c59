import { workflowIdOf } from '../storage/workflow-id.js';

/** The segments that work in this process, and how to stop what they have in flight. */
export class RunningSegments {
  readonly #running = new Map<string, AbortController>();
  readonly #present = new Map<string, number>();

  /** Workflow ids of the segments that are executed, from their first line to their last. */
  get workflowIds(): readonly string[] {
    return [...this.#present.keys()];
  }

  arrive(runId: string, segment: number): { readonly leave: () => void } {
    const id = workflowIdOf(runId, segment);
    this.#present.set(id, (this.#present.get(id) ?? 0) + 1);
    const leave = (): void => {
      const left = (this.#present.get(id) ?? 1) - 1;
      if (left > 0) this.#present.set(id, left);
      else this.#present.delete(id);
    };
    return { leave };
  }

  has(runId: string): boolean {
    return this.#running.has(runId);
  }

  get runIds(): string[] {
    return [...this.#running.keys()];
  }

  /** Watches a run until `release`. The reason of the signal is `cancelled` or `limit_wall_time`. */
  watch(runId: string, remainingMs: number | null): { readonly signal: AbortSignal; readonly release: () => void } {
    const stop = new AbortController();
    this.#running.set(runId, stop);
    const silence = remainingMs === null ? () => {} : alarm(remainingMs, () => stop.abort('limit_wall_time'));
    const release = (): void => {
      silence();
      if (this.#running.get(runId) === stop) this.#running.delete(runId);
    };
    return { signal: stop.signal, release };
  }

  cancel(runId: string): void {
    this.#running.get(runId)?.abort('cancelled');
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
