import { createHash } from 'node:crypto';

/** Numbers in [0, 1) with 53 random bits each: the nth is taken from SHA-256 of `<seed>:<n>`. Not for secrets. */
export function seededRandom(seed: string): () => number {
  let count = 0;
  return () => {
    const bytes = createHash('sha256').update(`${seed}:${count++}`, 'utf8').digest();
    return Number(bytes.readBigUInt64BE() >> 11n) / 2 ** 53;
  };
}
