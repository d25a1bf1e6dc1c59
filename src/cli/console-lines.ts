import { format } from 'node:util';
import type { EngineLog } from '../core/ops/log-record.js';

/**
 * Puts into the log what libraries and tools write to standard error through the console, and the warnings of Node.js: they would stand
 * between its lines as a text that is no JSON.
 */
export function consoleIntoLog(log: EngineLog): void {
  const said =
    (say: EngineLog['warn']) =>
    (...words: unknown[]) =>
      say({ component: 'console', event: 'said' }, format(...words));
  Object.assign(console, { error: said(log.error), warn: said(log.warn), trace: said(log.warn) });
  // The listener of Node.js, which writes them as they are.
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => log.warn({ component: 'console', event: 'warned', name }, message));
}
