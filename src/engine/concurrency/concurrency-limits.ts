import { HoldfastError } from '../../core/errors/errors.js';

/** Work that takes long ends when the signal fires, and throws its reason. */
export interface UntilSignal {
  readonly signal?: AbortSignal;
}

interface Line {
  /** So many are at work at once. */
  readonly atOnce: number;
  /** So many more wait; for one beyond them, `rate_limited`. */
  readonly waiting: number;
  /** What several of them are called. */
  readonly what: string;
}

/**
 * Does a few things at once, in the order in which they were asked for. The one that waits and is not wanted any more leaves the line: its
 * signal fires, and its reason is thrown. A failure of one is its own.
 */
function boundedQueue({
  atOnce,
  waiting,
  what,
}: Line): <T>(work: () => Promise<T>, signal?: AbortSignal) => Promise<T> {
  const line = new Set<() => void>();
  let atWork = 0;
  const place = (signal: AbortSignal | undefined): Promise<void> =>
    new Promise((resolve, reject) => {
      const abandon = (): void => {
        line.delete(enter);
        reject(signal?.reason);
      };
      const enter = (): void => {
        line.delete(enter);
        signal?.removeEventListener('abort', abandon);
        atWork++;
        resolve();
      };
      if (atWork < atOnce) return enter();
      if (line.size >= waiting) return reject(full(waiting, what));
      line.add(enter);
      signal?.addEventListener('abort', abandon, { once: true });
    });
  return async (work, signal) => {
    signal?.throwIfAborted();
    await place(signal);
    try {
      return await work();
    } finally {
      atWork--;
      const [next] = line;
      next?.();
    }
  };
}

const full = (waiting: number, what: string): HoldfastError =>
  new HoldfastError(
    'rate_limited',
    `This server has ${waiting} ${what} that wait for their turn, which is the limit.`,
    {
      hint: 'Try again when some have ended.',
    },
  );

/** Such work, which ends when the one that asked for it is gone, or the engine stops. */
export function longWork(terms: Line, ending: AbortSignal) {
  const line = boundedQueue(terms);
  return <T>(work: (signal: AbortSignal) => Promise<T>, until?: AbortSignal): Promise<T> => {
    const signal = until === undefined ? ending : AbortSignal.any([ending, until]);
    return line(async () => {
      signal.throwIfAborted();
      return work(signal);
    }, signal);
  };
}

/** Does one thing after the other, in the order in which they are asked for; a failure of one is its own. */
export function serialize(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };
}

/** Does at most so many things at once; for one more, throws `rate_limited`. `what` names several of them. */
export function limitConcurrency(limit: number, what: string): <T>(work: () => Promise<T>) => Promise<T> {
  let atWork = 0;
  return async (work) => {
    if (atWork >= limit)
      throw new HoldfastError('rate_limited', `This server is at work on ${limit} ${what}, which is the limit.`, {
        hint: 'Try again when one has ended.',
      });
    atWork++;
    try {
      return await work();
    } finally {
      atWork--;
    }
  };
}

/**
 * Works on so many items at once, and gives what comes of them in their order. The one that stops listening, or hears of a failure, does so when
 * nothing is at work any more.
 */
export async function* mapConcurrently<T, R>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R, void> {
  const begun: Promise<R>[] = [];
  const begin = (at: number): void => {
    const item = items[at];
    if (item === undefined) return;
    const one = work(item);
    // It is heard of in its turn.
    one.catch(() => undefined);
    begun.push(one);
  };
  try {
    for (let at = 0; at < items.length; at++) {
      while (begun.length < Math.min(items.length, at + atOnce)) begin(begun.length);
      yield await (begun[at] as Promise<R>);
    }
  } finally {
    await Promise.allSettled(begun);
  }
}

/** What may be asked for several times and is done the first time. */
export function once<A extends readonly unknown[]>(work: (...args: A) => void): (...args: A) => void {
  let done = false;
  return (...args) => {
    if (!done) {
      done = true;
      work(...args);
    }
  };
}
