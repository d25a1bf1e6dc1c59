import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SignTable, signsOfBits, signsOfVector } from '../../../src/core/memory/sign-table.js';
import { signsOf, vectorOf } from '../../../src/core/memory/vectors.js';

const DIMENSIONS = 40;
const numbers = fc.array(fc.constantFrom(-1, -0, 0, 1), { minLength: DIMENSIONS, maxLength: DIMENSIONS });
const vectorFrom = (some: readonly number[]): Float32Array =>
  vectorOf(some, DIMENSIONS) ?? new Float32Array(DIMENSIONS).fill(1);

/** As PostgreSQL sends bits: eight in a byte, the last byte filled up with zeros. */
function bytesOf(bits: string): Uint8Array {
  const bytes = bits.match(/.{1,8}/g) ?? [];
  return Uint8Array.from(bytes, (one) => Number.parseInt(one.padEnd(8, '0'), 2));
}

test('signs from a vector are those from the bits that the database keeps of it', () => {
  fc.assert(
    fc.property(numbers, (some) => {
      const vector = vectorFrom(some);
      expect(signsOfVector(vector)).toEqual(signsOfBits(bytesOf(signsOf(vector)), DIMENSIONS));
    }),
  );
});

test('a table gives the documents whose signs differ least, whatever was set and deleted before', () => {
  // Names whose order by UTF-16 is not that of their bytes.
  const key = fc.constantFrom('a', 'b', 'B', 'é', '\u{ffee}', '\u{1f600}', 'ab');
  const owner = fc.constantFrom('', 'o', '\u{1f600}');
  const change = fc.record({ owner, key, vector: fc.option(numbers, { nil: null }) });
  fc.assert(
    fc.property(
      fc.array(change, { maxLength: 60 }),
      numbers,
      fc.integer({ min: 1, max: 25 }),
      (changes, asked, most) => {
        const table = new SignTable(DIMENSIONS);
        const model = new Map<string, { owner: string; key: string; bits: string }>();
        for (const { owner, key, vector } of changes) {
          const name = { owner, key };
          if (vector === null) {
            table.delete(name);
            model.delete(JSON.stringify(name));
          } else {
            table.set(name, signsOfVector(vectorFrom(vector)));
            model.set(JSON.stringify(name), { ...name, bits: signsOf(vectorFrom(vector)) });
          }
        }
        const to = signsOf(vectorFrom(asked));
        const differences = (bits: string): number => [...bits].filter((bit, at) => bit !== to[at]).length;
        const expected = [...model.values()]
          .sort(
            (a, b) =>
              differences(a.bits) - differences(b.bits) ||
              Buffer.compare(Buffer.from(a.owner), Buffer.from(b.owner)) ||
              Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)),
          )
          .slice(0, most)
          .map(({ owner, key }) => JSON.stringify({ owner, key }));
        const found = table.closest(signsOfVector(vectorFrom(asked)), most).map((name) => JSON.stringify(name));
        expect(found.sort()).toEqual(expected.sort());
        expect(table.size).toBe(model.size);
      },
    ),
    { numRuns: 300 },
  );
});

test('a table grows with its documents', () => {
  const table = new SignTable(8);
  for (let n = 0; n < 5000; n++) table.set({ owner: '', key: `k${n}` }, Uint32Array.of(((n % 256) << 24) >>> 0));
  const equal = Array.from({ length: 20 }, (_, at) => `k${at * 256}`).sort();
  expect(
    table
      .closest(Uint32Array.of(0), 19)
      .map(({ key }) => key)
      .sort(),
  ).toEqual(equal.slice(0, 19));
});
