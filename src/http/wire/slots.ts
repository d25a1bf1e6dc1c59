import { HoldfastError } from '../../core/errors/errors.js';

export interface Slots {
  /** Throws `rate_limited` when too many are taken. What it gives back must be called once. */
  take(tokenId: string): () => void;
}

/** Counts what is open per token. */
export function createSlots(limit: number): Slots {
  const open = new Map<string, number>();
  const count = (tokenId: string): number => open.get(tokenId) ?? 0;
  return {
    take(tokenId) {
      if (count(tokenId) >= limit) {
        throw new HoldfastError('rate_limited', `The token has ${limit} streams open, which is the limit.`, {
          hint: 'Close a stream, or use another token.',
        });
      }
      open.set(tokenId, count(tokenId) + 1);
      return () => {
        if (count(tokenId) > 1) open.set(tokenId, count(tokenId) - 1);
        else open.delete(tokenId);
      };
    },
  };
}
