import { writeSync } from 'node:fs';
import { codeAround, LateThrow, stackOf } from '../../../steps/calls/late-throws.js';
import type { EngineLog } from '../../core/ops/log-record.js';
import { withoutKnownSecrets } from '../../models/secrets/known-secrets.js';

const EVENTS = ['uncaughtException', 'unhandledRejection'] as const;

/** Who hears of what no one caught. */
interface StrayHearer {
  readonly log: EngineLog;
  /** Says why the process ends, which it does right afterwards. */
  readonly fatal: (error: unknown) => void;
}

const hearers: StrayHearer[] = [];

/** Who writes it into a log, and to standard error where that log is silent. */
export const hearerOf = (log: EngineLog, isSilent = false): StrayHearer => ({
  log,
  fatal: (thrown) => {
    const error = traceOf(thrown);
    log.error(
      { component: 'process', event: 'fatal', code: 'internal', error },
      'no one caught an error: the process ends',
    );
    if (isSilent) writeSync(2, `holdfast: no one caught an error, and the process ends: ${error}\n`);
  },
});

/**
 * Watches what no one catches in this process, until the returned function is called. What the code of a run threw is told to the run,
 * and the process goes on. Anything else ends the process with code 1, after the newest hearer has said why; where someone else
 * listens for it, it is left to them.
 */
export function watchStrayThrows(hearer: StrayHearer): () => void {
  if (hearers.length === 0) listen();
  hearers.push(hearer);
  return () => {
    const at = hearers.indexOf(hearer);
    if (at >= 0) hearers.splice(at, 1);
    if (hearers.length === 0) ignore();
  };
}

const onException = (error: unknown): void => hear('uncaughtException', error);
const onRejection = (reason: unknown): void => hear('unhandledRejection', reason);

function listen(): void {
  process.prependListener('uncaughtException', onException);
  process.prependListener('unhandledRejection', onRejection);
  globalThis.queueMicrotask = queueInContext;
}

function ignore(): void {
  process.removeListener('uncaughtException', onException);
  process.removeListener('unhandledRejection', onRejection);
  if (globalThis.queueMicrotask === queueInContext) globalThis.queueMicrotask = queueByNode;
}

function hear(event: (typeof EVENTS)[number], thrown: unknown): void {
  if (toldItsCode(thrown)) return;
  if (process.listenerCount(event) > 1) return;
  try {
    hearers.at(-1)?.fatal(thrown);
  } finally {
    process.exit(1);
  }
}

/** False: no code of a run threw it. */
function toldItsCode(thrown: unknown): boolean {
  const code = codeAround();
  if (code === null) return false;
  const error = new LateThrow(thrown);
  const failed = code.fail(error);
  const { what, runId, tool, callId } = code;
  hearers
    .at(-1)
    ?.log.warn(
      { component: 'worker', event: 'threw_late', runId, tool, callId, failed, error: traceOf(thrown) },
      `${what} threw where no one waited for it${failed ? '' : ', after it had ended'}`,
    );
  return true;
}

/** What was thrown and where, without further properties: those may hold anything. */
const traceOf = (thrown: unknown): string => withoutKnownSecrets(stackOf(thrown));

const queueByNode = globalThis.queueMicrotask;

/** Before Node.js 24 an exception of a queued microtask is raised outside of the context that queued it. */
const queueInContext: typeof queueMicrotask = (callback) => {
  if (codeAround() === null || typeof callback !== 'function') return queueByNode(callback);
  queueByNode(() => {
    try {
      callback();
    } catch (error) {
      if (!toldItsCode(error)) throw error;
    }
  });
};
