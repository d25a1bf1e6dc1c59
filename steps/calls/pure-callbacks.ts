import { AsyncLocalStorage } from 'node:async_hooks';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { watchInputAndOutput } from './input-and-output.js';

/** A callback that must not read or write anything outside of its arguments. */
interface PureCallback {
  readonly what: string;
  /** The first that it did; null: nothing so far. */
  first: HoldfastError | null;
  /** Hears of the first, where no one waits for the callback. */
  readonly tell: (error: HoldfastError) => void;
}

const callbacks = new AsyncLocalStorage<PureCallback>();

/**
 * Runs a callback where input and output fail. Rejects with `callback_not_pure` also when the callback caught that error and went
 * on. `what` names the callback.
 */
export async function purely<T>(what: string, work: () => T): Promise<Awaited<T>> {
  const stopWatching = watch();
  try {
    return await new Promise<Awaited<T>>((resolve, reject) => {
      // The first one to be told stands: a callback may never end after it.
      const whole = async (): Promise<Awaited<T>> => await work();
      callbacks.run({ what, first: null, tell: reject }, whole).then(resolve, reject);
    });
  } finally {
    stopWatching();
  }
}

/** Runs a hook, whose end is not waited for, where input and output fail: `tell` hears of the first. */
export function hookPurely<T>(what: string, work: () => T, tell: (error: HoldfastError) => void): T {
  const stopWatching = watch();
  try {
    return callbacks.run({ what, first: null, tell }, work);
  } finally {
    stopWatching();
  }
}

/** The reads and writes of every callback come here. */
const watch = (): (() => void) =>
  watchInputAndOutput({
    isForbidden: () => callbacks.getStore() !== undefined,
    note: (operation) => {
      const callback = callbacks.getStore();
      if (callback === undefined) return null;
      const error = notPure(callback.what, operation);
      if (callback.first === null) {
        callback.first = error;
        callback.tell(error);
      }
      return error;
    },
  });

const notPure = (what: string, operation: string): HoldfastError =>
  new HoldfastError(
    'callback_not_pure',
    `${what} used ${operation}, but its agent declares callbacks: 'pure'; they may only compute from their arguments.`,
  );
