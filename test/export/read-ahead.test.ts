import { expect, it } from 'vitest';
import { readAhead } from '../../steps/exports/read-exported.js';

/** A series of which the next is asked for while the one before is worked on. */

/** Gives 1, 2, 3 … in their time, and keeps what happened. */
function series(upTo: number, failsAt = Number.NaN) {
  const heard: string[] = [];
  async function* numbers(): AsyncIterable<number> {
    try {
      for (let n = 1; n <= upTo; n++) {
        heard.push(`asked ${n}`);
        await new Promise((resolve) => setImmediate(resolve));
        if (n === failsAt) throw new Error(`there is no ${n}`);
        heard.push(`has ${n}`);
        yield n;
      }
    } finally {
      heard.push('closed');
    }
  }
  return { heard, numbers: numbers() };
}

it('gives all of it in its order, and asks for the next before it gives one', async () => {
  const { heard, numbers } = series(3);
  const given: number[] = [];
  for await (const n of readAhead(numbers)) {
    if (n < 3) expect(heard).toContain(`asked ${n + 1}`);
    given.push(n);
  }
  expect(given).toEqual([1, 2, 3]);
  expect(heard.at(-1)).toBe('closed');
});

it('throws in its turn what fails while the one before is worked on', async () => {
  const { numbers } = series(3, 2);
  const given: number[] = [];
  const all = async () => {
    for await (const n of readAhead(numbers)) {
      // By now the second has failed.
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
      given.push(n);
    }
  };
  await expect(all()).rejects.toThrow('there is no 2');
  expect(given).toEqual([1]);
});

it('leaves nothing on its way when no one wants more', async () => {
  const { heard, numbers } = series(3);
  for await (const n of readAhead(numbers)) if (n === 1) break;
  expect(heard).toEqual(['asked 1', 'has 1', 'asked 2', 'has 2', 'closed']);
  const { heard: second, numbers: failing } = series(3, 2);
  for await (const n of readAhead(failing)) if (n === 1) break;
  expect(second.at(-1)).toBe('closed');
});
