import { setTimeout as sleep } from 'node:timers/promises';
import { databaseTrouble } from '../../storage/database/database-trouble.js';

/** Rests are that much longer than the work before them while runs work: runs keep two thirds of the process. */
const REST_TIMES = 2;
/** A stop waits for no longer rest. */
const REST_MS_MAX = 1000;

interface Due {
  /** Does a batch. False: there is no more. */
  readonly batch: () => Promise<boolean>;
  /** Whether runs work in this process. */
  readonly isBusy: () => boolean;
  readonly isStopping: () => boolean;
  readonly now?: () => number;
  readonly rest?: (ms: number) => Promise<unknown>;
}

/**
 * Does what is due in batches until nothing is left, however much it is. A process with runs at work rests after each batch, so that
 * what is due gets a share of the time that does not depend on how much there is.
 */
export async function workOff({
  batch,
  isBusy,
  isStopping,
  now = () => performance.now(),
  rest = (ms) => sleep(ms),
}: Due): Promise<void> {
  while (!isStopping()) {
    const began = now();
    if (!(await batch())) return;
    if (isBusy() && !isStopping()) await rest(Math.min(REST_MS_MAX, REST_TIMES * (now() - began)));
  }
}

const LOOK_MS = 200;

/** Does work with a signal that fires when the worker stops: no stop waits for an answer from elsewhere. */
export async function untilStopped<T>(
  isStopping: () => boolean,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stopped = new AbortController();
  const watch = setInterval(() => isStopping() && stopped.abort(), LOOK_MS).unref();
  try {
    return await work(stopped.signal);
  } finally {
    clearInterval(watch);
  }
}

/** Returns the level of a line about work that is tried again. Of a database that is away or takes no writes, a line says so for all. */
export function levelOfFailure(error: unknown): 'debug' | 'warn' {
  const trouble = databaseTrouble(error);
  return trouble === null || trouble === 'conflict' ? 'warn' : 'debug';
}
