import type { EngineLog } from '../engine/parts.js';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * Resolves at the first SIGTERM or SIGINT. From then on the process ends with code 1 at a second one, and when it has not
 * stopped within its grace.
 */
export function untilAskedToStop(graceMs: number, log: EngineLog): Promise<void> {
  return new Promise((resolve) => {
    let asked = false;
    const onSignal = (signal: NodeJS.Signals): void => {
      if (asked) {
        log.warn({ signal }, 'asked to stop again: ended at once');
        process.exit(1);
      }
      asked = true;
      log.info({ signal, graceMs }, 'stopping');
      setTimeout(() => {
        log.error({ graceMs }, 'did not stop in its time: ended; what was in flight goes on at the next start');
        process.exit(1);
      }, graceMs).unref();
      resolve();
    };
    for (const signal of SIGNALS) process.on(signal, onSignal);
  });
}
