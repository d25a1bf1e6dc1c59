import { HoldfastError } from '../core/errors.js';

export interface Slots {
  /** Throws `rate_limited` when too many are taken. What it gives back must be called once. */
  take(tokenIndex: number): () => void;
}

/** Counts what is open per token. */
export function createSlots(limit: number): Slots {
  const open = new Map<number, number>();
  const count = (tokenIndex: number): number => open.get(tokenIndex) ?? 0;
  return {
    take(tokenIndex) {
      if (count(tokenIndex) >= limit) {
        throw new HoldfastError('rate_limited', `The token has ${limit} streams open, which is the limit.`, {
          hint: 'Close a stream, or use another token.',
        });
      }
      open.set(tokenIndex, count(tokenIndex) + 1);
      return () => open.set(tokenIndex, count(tokenIndex) - 1);
    },
  };
}
