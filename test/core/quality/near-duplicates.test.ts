import { expect, test } from 'vitest';
import { nearDuplicates, PAIRS_MOST, sketchOfTask } from '../../../src/core/quality/near-duplicates.js';
import { parseTask } from '../../../src/core/tasks/task-definition.js';

const words = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, n) => `word${from + n}`).join(' ');
const sketch = (name: string, instruction: string, test = 'true', files = {}) =>
  sketchOfTask(
    parseTask({
      ...{ name, version: '1.0.0', category: 'c', difficulty: 'easy', instruction },
      environment: { image: 'busybox' },
      verification: { tests: [{ name: 't', command: test }], files },
    }),
  );
const idsOf = (found: ReturnType<typeof nearDuplicates>) => found.pairs.map(({ a, b }) => `${a} ${b}`);

test('the same words in other letters, spaces and signs are the same', () => {
  const tasks = [
    sketch('one', 'Sort the lines of a file, please.'),
    sketch('two', 'SORT   the lines:\nof a File please'),
  ];
  expect(nearDuplicates(tasks, null, 1).pairs).toEqual([{ a: 'one@1.0.0', b: 'two@1.0.0', instruction: 1, tests: 0 }]);
});

test('a share is what two small texts have in common of what they have together', () => {
  // Features: 0..8 and 4..12 of five words each: 5 in common of 13.
  const tasks = [sketch('one', words(0, 13)), sketch('two', words(4, 17))];
  const [pair] = nearDuplicates(tasks, null, 0.1).pairs;
  expect(pair?.instruction).toBeCloseTo(5 / 13, 10);
  expect(nearDuplicates(tasks, null, 0.4).found).toBe(0);
});

test('the share of long texts is estimated within a few hundredths', () => {
  const tasks = [sketch('one', words(0, 3000)), sketch('two', words(300, 3300))];
  const [pair] = nearDuplicates(tasks, null, 0.5).pairs;
  expect(pair?.instruction).toBeGreaterThan(0.7);
  expect(pair?.instruction).toBeLessThan(0.93);
});

test('tasks with the same tests are found, and short commands are no tests that say anything', () => {
  const tests = { 'check.py': words(0, 100) };
  const tasks = [
    sketch('one', words(100, 200), 'pytest -q', tests),
    sketch('two', words(200, 300), 'pytest -q', tests),
    sketch('three', words(300, 400), 'pytest -q'),
    sketch('four', words(400, 500), 'pytest -q'),
  ];
  expect(nearDuplicates(tasks, null, 0.8).pairs).toEqual([
    { a: 'one@1.0.0', b: 'two@1.0.0', instruction: 0, tests: 1 },
  ]);
});

test('texts that have no words have nothing in common', () => {
  expect(nearDuplicates([sketch('one', '!!!'), sketch('two', '???')], null, 0.1).found).toBe(0);
});

test('small texts that have little in common are all found', () => {
  // Features: 22 of each, of which 4 are in both: 4 of 40.
  const tasks = Array.from({ length: 200 }, (_, n) => {
    const [at, shared] = [n * 100, words(n * 100 + 50, n * 100 + 58)];
    return [
      sketch(`a${n}`, `${words(at, at + 18)} ${shared}`),
      sketch(`b${n}`, `${words(at + 20, at + 38)} ${shared}`),
    ];
  }).flat();
  expect(nearDuplicates(tasks, null, 0.1).found).toBe(200);
});

test('each pair of one set is found once, and of two sets also a task that is in both', () => {
  const [a, b, c] = [sketch('a', words(0, 50)), sketch('b', words(0, 50)), sketch('c', words(60, 99))];
  expect(idsOf(nearDuplicates([a, b, c], null, 0.8))).toEqual(['a@1.0.0 b@1.0.0']);
  expect(idsOf(nearDuplicates([a, c], [c, b], 0.8))).toEqual(['a@1.0.0 b@1.0.0', 'c@1.0.0 c@1.0.0']);
});

test('of more pairs than are told those come first that are most alike', () => {
  const same = Array.from({ length: 60 }, (_, n) => sketch(`same-${n}`, words(0, 40)));
  const nearly = [sketch('nearly', words(0, 39))];
  const { found, pairs } = nearDuplicates([...nearly, ...same], null, 0.5);
  expect(found).toBe((60 * 59) / 2 + 60);
  expect(pairs).toHaveLength(PAIRS_MOST);
  expect(pairs.every(({ instruction }) => instruction === 1)).toBe(true);
});
