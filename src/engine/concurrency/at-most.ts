import { HoldfastError } from '../../core/errors/errors.js';

/** Does at most so many things at once; for one more, throws `rate_limited`. `what` names several of them. */
export function atMost(limit: number, what: string): <T>(work: () => Promise<T>) => Promise<T> {
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
