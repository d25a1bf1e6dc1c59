import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Allowance } from '../../../src/core/limits/allowance.js';
import { canariesIn, isTelling, scanForHardcoded } from '../../../src/core/tasks/hardcoding.js';
import { resolveTask } from '../../../src/core/tasks/resolve-task.js';
import { parseTask } from '../../../src/core/tasks/task-definition.js';
import { aTask } from './a-task.js';

const scan = (content: string, ...outputs: string[]) => scanForHardcoded(new Map([['solve.py', content]]), outputs);

it('says what it found where', () => {
  expect(scan('import sys\n\nprint("total: 1234")\n', 'other', 'total: 1234\n')).toEqual([
    {
      ...{ path: 'solve.py', line: 3, expected: 1, form: 'literal' },
      text: 'solve.py, line 3, holds expected output 2 as it is: total: 1234")',
    },
  ]);
});

it.each<[string, string, string]>([
  ['literal', 'x = 48151623', '48151623'],
  ['escaped', 'print("one 1\\ntwo 2\\nthree 3")', 'one 1\ntwo 2\nthree 3\n'],
  ['escaped', `print('say "hello"\\nthree times')`, 'say "hello"\nthree times\n'],
  ['lines', 'print("first line")\nprint("second line")', 'first line\nsecond line'],
  ['base64', `b64decode("${Buffer.from('the answer is 42, always').toString('base64')}")`, 'the answer is 42, always'],
  ['hex', `fromhex("${Buffer.from('the answer is 42').toString('hex').toUpperCase()}")`, 'the answer is 42'],
])('knows the form %s', (form, content, output) => {
  expect(scan(content, output).map((finding) => finding.form)).toEqual([form]);
});

it('finds nothing in what computes, in parts of words and numbers, and of what is too short', () => {
  expect(scan('print(sum(int(line) for line in sys.stdin))', '48151623')).toEqual([]);
  expect(scan('x = 148151623\ny = 481516230', '48151623')).toEqual([]);
  expect(scan('print("42")', '42')).toEqual([]);
  expect(scan('print("0000000000")', '0000000000')).toEqual([]);
  expect(scan('print("first line")', 'first line\nsecond line')).toEqual([]);
});

const outputs = fc.string({ minLength: 8, maxLength: 60 }).filter((text) => isTelling(text.trim()));
const lines = fc.array(fc.stringMatching(/^[-+*()= ]{0,20}$/), { maxLength: 20 });

it('finds an output wherever it stands, and on the right line', () => {
  fc.assert(
    fc.property(outputs, lines, lines, (output, before, after) => {
      const content = [...before, `print( ${output} )`, ...after].join('\n');
      const [finding] = scan(content, output);
      expect(finding?.form).toBe('literal');
      expect(finding?.line).toBe(before.length + 1);
    }),
    { numRuns: 500 },
  );
});

it('finds an output that is written as a text of a program', () => {
  fc.assert(
    fc.property(outputs, (output) => {
      expect(scan(`print(${JSON.stringify(output.trim())})`, output)).toHaveLength(1);
    }),
    { numRuns: 500 },
  );
});

it('finds nothing in what shares no letter with an output', () => {
  const letters = fc.stringMatching(/^[a-m \n]{0,200}$/);
  const others = fc.stringMatching(/^[n-z]{8,40}$/).filter((text) => isTelling(text));
  fc.assert(
    fc.property(letters, others, (content, output) => {
      expect(scan(content, output)).toEqual([]);
    }),
  );
});

it('is bounded: one finding of a file and output, and a hundred in all', () => {
  const many = new Map(Array.from({ length: 300 }, (_, n) => [`${n}.py`, 'total: 1234 total: 1234']));
  expect(scanForHardcoded(many, ['total: 1234'])).toHaveLength(100);
});

it('finds canaries in any letters, and in nothing else', () => {
  const task = parseTask(aTask({ antiHardcoding: { canaries: ['key'] }, initialFiles: { 'key.txt': '{{key}}' } }));
  fc.assert(
    fc.property(fc.nat(), fc.string(), (seed, noise) => {
      const { canaries } = resolveTask(task, { parameters: {}, seed }, new Allowance());
      const other = resolveTask(task, { parameters: {}, seed: seed + 1 }, new Allowance()).canaries;
      const small = `${noise}${canaries['key']?.toUpperCase()}${noise}`.toLowerCase();
      expect(canariesIn(small, canaries)).toEqual(['key']);
      expect(canariesIn(small, other)).toEqual([]);
      expect(canariesIn(noise.toLowerCase(), canaries)).toEqual([]);
    }),
  );
});
