/** The segments that work in this process, and how to stop what they have in flight. */
export class RunningSegments {
  readonly #running = new Map<string, AbortController>();

  get runIds(): string[] {
    return [...this.#running.keys()];
  }

  /** Watches a run until `release`. The reason of the signal is `cancelled` or `limit_wall_time`. */
  watch(runId: string, remainingMs: number | null): { readonly signal: AbortSignal; readonly release: () => void } {
    const stop = new AbortController();
    this.#running.set(runId, stop);
    const timer =
      remainingMs === null ? undefined : setTimeout(() => stop.abort('limit_wall_time'), clamp(remainingMs)).unref();
    const release = (): void => {
      clearTimeout(timer);
      if (this.#running.get(runId) === stop) this.#running.delete(runId);
    };
    return { signal: stop.signal, release };
  }

  cancel(runId: string): void {
    this.#running.get(runId)?.abort('cancelled');
  }
}

/** Timers of Node fire at once beyond 2^31-1 ms. */
const clamp = (ms: number): number => Math.min(ms, 2 ** 31 - 1);
