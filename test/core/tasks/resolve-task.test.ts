import fc from 'fast-check';
import { expect, it } from 'vitest';
import { HoldfastError } from '../../../src/core/errors/errors.js';
import { Allowance } from '../../../src/core/limits/allowance.js';
import { resolveTask } from '../../../src/core/tasks/resolve-task.js';
import { parseTask, type TaskInput, taskHashOf } from '../../../src/core/tasks/task-definition.js';
import { drawn, type RandomizedInput } from '../../../src/core/tasks/task-parameter.js';
import { fillIn, literally, placeholdersIn } from '../../../src/core/tasks/task-texts.js';
import { aTask } from './a-task.js';

const seeds = fc.nat({ max: Number.MAX_SAFE_INTEGER });

const templated = (more: Partial<TaskInput> = {}): TaskInput =>
  aTask({
    instruction: 'Add {{n}} to {{ numbers }}; write \\{{n}} nowhere.',
    initialFiles: { 'in.txt': '{{numbers}}', 'in.bin': { base64: 'e3tufX0=' } },
    verification: {
      files: { 'right.py': 'N = {{n}}\nKEY = "{{key}}"\nNUMBERS = {{numbers}}' },
      tests: [{ name: 'adds', command: ['python3', '/tmp/tests/right.py', '{{n}}'], files: { 'one.txt': '{{n}}' } }],
      lint: 'echo {{n}}',
    },
    expectedOutputs: ['{{n}}'],
    parameters: { n: { type: 'integer', min: 1, max: 9, default: 4 } },
    antiHardcoding: {
      canaries: ['key'],
      randomizedInputs: { numbers: { type: 'integers', count: 5, min: -3, max: 3 } },
    },
    solution: { script: 'echo {{n}}', files: { 'out.txt': '{{numbers}}' } },
    ...more,
  });

it('fills in each text, and nothing else', () => {
  const definition = parseTask(templated());
  const task = resolveTask(definition, { parameters: { n: 7 }, seed: 1 }, new Allowance());
  const numbers = /to (\[.*\]);/.exec(task.instruction)?.[1] ?? '';
  expect(JSON.parse(numbers)).toHaveLength(5);
  expect(task.instruction).toBe(`Add 7 to ${numbers}; write {{n}} nowhere.`);
  expect(task.initialFiles).toEqual({
    'in.txt': { text: numbers, mode: '644' },
    'in.bin': { base64: 'e3tufX0=', mode: '644' },
  });
  const { key = '' } = task.canaries;
  expect(key).toMatch(/^canary-[0-9a-f]{32}$/);
  expect(task.verification.files['right.py']).toEqual({
    text: `N = 7\nKEY = "${key}"\nNUMBERS = ${numbers}`,
    mode: '644',
  });
  expect(task.verification.tests[0]).toMatchObject({
    command: ['python3', '/tmp/tests/right.py', '7'],
    files: { 'one.txt': { text: '7' } },
  });
  expect(task).toMatchObject({
    verification: { lint: ['sh', '-c', 'echo 7'] },
    expectedOutputs: ['7'],
    solution: { script: 'echo 7', files: { 'out.txt': { text: numbers } } },
    ...{ parameters: { n: 7 }, seed: 1, definitionHash: taskHashOf(definition) },
  });
});

it('takes the default of what is not given, and names what does not fit', () => {
  const definition = parseTask(templated());
  expect(resolveTask(definition, { parameters: {}, seed: 1 }, new Allowance()).parameters).toEqual({ n: 4 });
  const problem = (parameters: Record<string, unknown>, seed = 1): string => {
    try {
      resolveTask(definition, { parameters, seed }, new Allowance());
    } catch (error) {
      if (error instanceof HoldfastError && error.code === 'task_parameters_invalid') return error.message;
    }
    return 'none';
  };
  expect(problem({ n: 10 })).toBe('/parameters/n: is more than 9.');
  expect(problem({ n: '7' })).toBe('/parameters/n: is no integer.');
  expect(problem({ m: 7 })).toBe('/parameters/m: is no parameter; those of the task are n.');
  expect(problem({ numbers: 7 })).toContain('/parameters/numbers: is no parameter');
  expect(problem({ constructor: 7 })).toContain('/parameters/constructor: is no parameter');
  expect(problem({}, -1)).toBe('/seed: is no whole number from 0.');
  const without = parseTask(templated({ parameters: { n: { type: 'integer' } } }));
  expect(() => resolveTask(without, { parameters: {}, seed: 1 }, new Allowance())).toThrow(
    '/parameters/n: is missing and has no default.',
  );
});

it('gives the same task for the same seed, and another for another', () => {
  const definition = parseTask(templated());
  fc.assert(
    fc.property(seeds, (seed) => {
      expect(resolveTask(definition, { parameters: {}, seed }, new Allowance())).toEqual(
        resolveTask(definition, { parameters: {}, seed }, new Allowance()),
      );
    }),
    { numRuns: 50 },
  );
  const keys = new Set(
    Array.from(
      { length: 100 },
      (_, seed) => resolveTask(definition, { parameters: {}, seed }, new Allowance()).canaries['key'],
    ),
  );
  expect(keys.size).toBe(100);
});

it('leaves no placeholder, and shows the agent nothing of the tests', () => {
  const definition = parseTask(templated());
  fc.assert(
    fc.property(seeds, fc.integer({ min: 1, max: 9 }), (seed, n) => {
      const { canaries, instruction, initialFiles, verification } = resolveTask(
        definition,
        {
          parameters: { n },
          seed,
        },
        new Allowance(),
      );
      const shown = JSON.stringify({ instruction, initialFiles });
      for (const canary of Object.values(canaries)) expect(shown).not.toContain(canary);
      expect(shown).not.toContain('right.py');
      expect(placeholdersIn(JSON.stringify(verification))).toEqual([]);
    }),
    { numRuns: 50 },
  );
});

it('shows tests that are not hidden, as files of the workspace', () => {
  const task = parseTask(templated({ antiHardcoding: { ...templated().antiHardcoding, hiddenTests: false } }));
  const { initialFiles, verification } = resolveTask(task, { parameters: {}, seed: 1 }, new Allowance());
  expect(Object.keys(initialFiles)).toEqual(['in.txt', 'in.bin', 'tests/right.py', 'tests/one.txt']);
  expect(initialFiles['tests/right.py']).toEqual(verification.files['right.py']);
});

it('reads no value again that was filled in', () => {
  const text = { type: 'text' } as const;
  const task = parseTask(aTask({ instruction: '{{a}}{{b}}', parameters: { a: text, b: text } }));
  const { instruction } = resolveTask(task, { parameters: { a: '{{b}}', b: '$& {{a}}' }, seed: 0 }, new Allowance());
  expect(instruction).toBe('{{b}}$& {{a}}');
});

it('takes any text literally where it is told to', () => {
  const pieces = fc.constantFrom('{{', '}}', '{', '}', '\\', 'a', ' ', '{{a}}', '{{ a }}', '$&');
  const texts = fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(texts, (text) => {
      expect(placeholdersIn(literally(text))).toEqual([]);
      expect(fillIn(literally(text), new Map([['a', 'FILLED']]))).toBe(text);
    }),
    { numRuns: 2000 },
  );
});

it('draws within bounds, each input by itself', () => {
  const bounds = fc.tuple(fc.integer(), fc.nat({ max: 1000 }), fc.integer({ min: 1, max: 50 }));
  fc.assert(
    fc.property(seeds, bounds, (seed, [min, width, count]) => {
      const max = min + width;
      const list = JSON.parse(drawn({ type: 'integers', count, min, max }, 'n', seed)) as number[];
      expect(list).toHaveLength(count);
      expect(list.every((one) => one >= min && one <= max)).toBe(true);
      const words = JSON.parse(drawn({ type: 'words', count, length: 4 }, 'n', seed)) as string[];
      expect(words.every((word) => /^[a-z]{4}$/.test(word)) && words.length === count).toBe(true);
    }),
    { numRuns: 200 },
  );
  const values = ['a', 'b', 'c'];
  const choices = Array.from({ length: 200 }, (_, seed) => drawn({ type: 'choice', values }, 'n', seed));
  expect(new Set(choices)).toEqual(new Set(values));
  const die: RandomizedInput = { type: 'integer', min: 1, max: 6 };
  expect(new Set(Array.from({ length: 200 }, (_, seed) => drawn(die, 'n', seed))).size).toBe(6);
});

it('draws what it always drew', () => {
  expect([
    drawn({ type: 'integer', min: 0, max: 1_000_000 }, 'n', 1),
    drawn({ type: 'integers', count: 3, min: -9, max: 9 }, 'n', 1),
    drawn({ type: 'words', count: 2, length: 5 }, 'n', 1),
    drawn({ type: 'word', length: 8 }, 'other', 1),
  ]).toMatchInlineSnapshot(`
    [
      "917903",
      "[8, -4, 5]",
      "["xitkm", "nrtgo"]",
      "aitfsmck",
    ]
  `);
});
