import type { EngineLog } from '../../../core/ops/log-record.js';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

export interface StopSignals {
  /** Resolves when the process should stop. */
  asked(): Promise<void>;
  /** Asks as a first SIGTERM does; an operator may from afar. */
  ask(): void;
}

/**
 * Watches for SIGTERM and SIGINT. Until `asked` is called, one ends the process at once: what is being started survives that.
 * Then the first one resolves `asked`, and the process ends with code 1 at a second one, or when it has not stopped within
 * its grace.
 */
export function watchStopSignals(graceMs: number, log: EngineLog): StopSignals {
  let stop: (() => void) | null = null;
  const end = (signal: string, why: string): void => {
    log.warn({ component: 'process', event: 'ended_at_once', signal }, why);
    process.exit(1);
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stop === null) end(signal, 'asked to stop before it was to serve, or again: ended at once');
    else begin(signal);
  };
  const begin = (why: string): void => {
    log.info({ component: 'process', event: 'stopping', signal: why, graceMs }, 'stopping');
    setTimeout(end, graceMs, why, 'did not stop in its time: what is in flight goes on at the next start').unref();
    stop?.();
    stop = null;
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return {
    asked: () =>
      new Promise((resolve) => {
        stop = resolve;
      }),
    ask: () => {
      if (stop !== null) begin('an operator');
    },
  };
}
