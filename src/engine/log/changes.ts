/** One who waits for a run. A change that comes between two waits is not lost: the next wait ends at once. */
export class Watch {
  /** What of the run is watched: a log that grows changes nothing else of it. */
  readonly of: 'run' | 'log';
  readonly #close: () => void;
  #changed = false;
  #go: (() => void) | undefined;

  constructor(of: 'run' | 'log', close: () => void) {
    this.of = of;
    this.#close = close;
  }

  notify(): void {
    this.#changed = true;
    this.#go?.();
  }

  /** Ends the present wait although nothing has changed. What waits looks for itself before it waits again. */
  poke(): void {
    this.#go?.();
  }

  /** Whether the run has changed since it was asked, or waited for, the last time. */
  takeChange(): boolean {
    const changed = this.#changed;
    this.#changed = false;
    return changed;
  }

  /**
   * Resolves when the run has changed since the last wait, after `atMostMs`, when poked, or when the signal fires; to
   * whether it has changed.
   */
  async changed(atMostMs: number, signal?: AbortSignal): Promise<boolean> {
    if (!this.#changed && !signal?.aborted) {
      await new Promise<void>((resolve) => {
        const go = (): void => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', go);
          this.#go = undefined;
          resolve();
        };
        const timer = setTimeout(go, Math.max(0, atMostMs));
        signal?.addEventListener('abort', go);
        this.#go = go;
      });
    }
    return this.takeChange();
  }

  close(): void {
    this.#close();
  }
}

/**
 * Tells those who wait in this process that a run changed, and other processes of what this one did. News of theirs may be lost: who waits
 * also looks again.
 */
export class Changes {
  readonly #watches = new Map<string, Set<Watch>>();
  readonly #tellOthers: (runId: string, what: 'run' | 'log') => void;

  constructor(tellOthers: (runId: string, what: 'run' | 'log') => void = () => undefined) {
    this.#tellOthers = tellOthers;
  }

  /** This process has changed a run. `log`: nothing but its log. */
  announce(runId: string, what: 'run' | 'log' = 'run'): void {
    this.hear(runId, what);
    this.#tellOthers(runId, what);
  }

  /** Another process has. */
  hear(runId: string, what: 'run' | 'log'): void {
    for (const watch of this.#watches.get(runId) ?? []) if (what === 'run' || watch.of === 'log') watch.notify();
  }

  /**
   * Watches a run, or its log and the run. To be opened before one looks, so that nothing falls between looking and waiting,
   * and to be closed after.
   */
  watch(runId: string, of: 'run' | 'log'): Watch {
    const watches = this.#watches.get(runId) ?? new Set<Watch>();
    this.#watches.set(runId, watches);
    const watch = new Watch(of, () => {
      watches.delete(watch);
      if (watches.size === 0 && this.#watches.get(runId) === watches) this.#watches.delete(runId);
    });
    watches.add(watch);
    return watch;
  }
}
