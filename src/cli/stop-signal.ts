import type { EngineLog } from '../engine/parts.js';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * Watches for SIGTERM and SIGINT. Until `asked` is called, one ends the process at once: what is being started survives that.
 * Then the first one resolves `asked`, and the process ends with code 1 at a second one, or when it has not stopped within
 * its grace.
 */
export function watchStopSignals(graceMs: number, log: EngineLog): { asked(): Promise<void> } {
  let stop: (() => void) | null = null;
  const end = (signal: NodeJS.Signals, why: string): void => {
    log.warn({ signal }, why);
    process.exit(1);
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stop === null) end(signal, 'asked to stop before it was to serve, or again: ended at once');
    else {
      log.info({ signal, graceMs }, 'stopping');
      setTimeout(end, graceMs, signal, 'did not stop in its time: what is in flight goes on at the next start').unref();
      stop();
      stop = null;
    }
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return {
    asked: () =>
      new Promise((resolve) => {
        stop = resolve;
      }),
  };
}
