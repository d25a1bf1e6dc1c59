/** Vectors of texts. Each has the length one, so that the cosine of two is the sum of their products. */

const NUMBER_BYTES = 4;

/**
 * Returns the first so many numbers as a vector of length one. Null: there are fewer, one of them is not finite, or all are zero.
 */
export function vectorOf(numbers: readonly number[], dimensions: number): Float32Array | null {
  if (numbers.length < dimensions) return null;
  const taken = numbers.slice(0, dimensions);
  const length = Math.sqrt(taken.reduce((sum, one) => sum + one * one, 0));
  if (!Number.isFinite(length) || length === 0) return null;
  return Float32Array.from(taken, (one) => one / length);
}

/** The numbers of a vector, four bytes each, the least significant first: the same on every machine. */
export function bytesOfVector(vector: Float32Array): Buffer {
  const bytes = Buffer.alloc(vector.length * NUMBER_BYTES);
  vector.forEach((one, at) => {
    bytes.writeFloatLE(one, at * NUMBER_BYTES);
  });
  return bytes;
}

/** The cosine distance of a vector and the bytes of another one: 0 is the same direction, 2 the opposite one. */
export function distanceTo(vector: Float32Array, bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let sum = 0;
  for (let at = 0; at < vector.length; at++) sum += (vector[at] ?? 0) * view.getFloat32(at * NUMBER_BYTES, true);
  return 1 - sum;
}

/** The signs of a vector as bits: two vectors that are near agree in most of them. */
export const signsOf = (vector: Float32Array): string => Array.from(vector, (one) => (one < 0 ? '1' : '0')).join('');

/** Numbers that are read of the vectors of one search. */
const READ_NUMBERS = 400_000;
const READ_LEAST = 200;
const READ_MOST = 1000;

/** To how many documents the distance is computed: those whose signs agree best. */
export const readVectors = (dimensions: number): number =>
  Math.max(READ_LEAST, Math.min(READ_MOST, Math.floor(READ_NUMBERS / dimensions)));
