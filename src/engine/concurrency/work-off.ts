import { setTimeout as sleep } from 'node:timers/promises';

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
