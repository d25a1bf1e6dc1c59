/** Tells those who wait in this process that a run changed. What other processes do is found by looking again. */
export class Changes {
  readonly #waiting = new Map<string, Set<() => void>>();

  announce(runId: string): void {
    const waiting = this.#waiting.get(runId);
    if (waiting === undefined) return;
    this.#waiting.delete(runId);
    for (const go of waiting) go();
  }

  /** Resolves at the next change of a run, after `atMostMs`, or when the signal fires. */
  next(runId: string, atMostMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(runId) ?? new Set<() => void>();
      this.#waiting.set(runId, waiting);
      const go = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', go);
        waiting.delete(go);
        if (waiting.size === 0 && this.#waiting.get(runId) === waiting) this.#waiting.delete(runId);
        resolve();
      };
      const timer = setTimeout(go, Math.max(0, atMostMs));
      waiting.add(go);
      if (signal?.aborted) go();
      else signal?.addEventListener('abort', go);
    });
  }
}
