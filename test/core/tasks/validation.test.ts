import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Allowance } from '../../../src/core/limits/allowance.js';
import { resolveTask } from '../../../src/core/tasks/resolve-task.js';
import { solutionCommands } from '../../../src/core/tasks/solution-commands.js';
import { parseTask } from '../../../src/core/tasks/task-definition.js';
import { type ValidationAttempt, validatedTask } from '../../../src/core/tasks/validation.js';
import { aTask } from './a-task.js';

/** What attempts say of a task, and how its solution gets into a workspace. */

const task = parseTask(aTask({ solution: { script: 'true' } }));
const attempt = (
  solved: boolean,
  shares: readonly number[],
  more: Partial<ValidationAttempt> = {},
): ValidationAttempt => ({
  ...{ solved, reward: Math.min(...shares), passed: shares.every((share) => share === 1), error: null },
  tests: shares.map((share, index) => ({ name: `t${index}`, share })),
  ...more,
});
const judged = (...attempts: readonly ValidationAttempt[]) => {
  const { verdict, problems } = validatedTask(task, attempts);
  return [verdict, ...problems];
};

it('is right where the solution passes and nothing earns nothing', () => {
  expect(judged(attempt(true, [1, 1]), attempt(false, [0, 0]))).toEqual(['right']);
  expect(validatedTask(parseTask(aTask()), [attempt(false, [0])])).toMatchObject({
    ...{ verdict: 'right', problems: ['it has no reference solution to try'] },
    ...{ solved: { attempts: 0 }, idle: { attempts: 1, passed: 0, rewards: [0] } },
  });
});

it('is wrong where a solution is refused, or nothing is rewarded', () => {
  expect(judged(attempt(true, [1, 0.5]), attempt(false, [0, 0]))).toEqual([
    'wrong',
    'it refuses its own solution in 1 of 1 attempts: t1',
  ]);
  // The scan found an expected output in it: its tests passed.
  expect(judged(attempt(true, [1], { passed: false }), attempt(false, [0]))[1]).toContain(
    'something else than its tests',
  );
  expect(judged(attempt(true, [1, 1]), attempt(false, [1, 0], { reward: 0.4 }))).toEqual([
    'wrong',
    'it gives a reward of 0.4 for nothing in 1 of 1 attempts',
  ]);
});

it('is flaky where equal attempts end otherwise, and an error where one was not verified', () => {
  expect(judged(attempt(true, [1, 1]), attempt(true, [1, 0]), attempt(false, [0, 0]))).toEqual([
    'flaky',
    'equal attempts of the solution ended otherwise: t1',
    'it refuses its own solution in 1 of 2 attempts: t1',
  ]);
  const broken = attempt(true, [0], { tests: [], reward: null, error: 'image_unknown: There is no image.' });
  expect(judged(broken, broken, attempt(false, [0]))).toEqual(['error', 'image_unknown: There is no image.']);
});

it('a solution of any size is commands that a shell takes', () => {
  const large = `${'é'.repeat(100_000)}'"$x\n`;
  const script = `# ${'x'.repeat(40_000)}\ncat 'in/a b.txt' >copy\nexit 3`;
  const solution = { files: { 'in/a b.txt': large, run: { text: '#!/bin/sh\n', mode: '755' } }, script };
  const commands = solutionCommands(
    resolveTask(parseTask(aTask({ solution })), { parameters: {}, seed: 1 }, new Allowance()),
  );
  expect(Math.max(...commands.map(({ length }) => length))).toBeLessThan(65_536);
  const cwd = mkdtempSync(join(tmpdir(), 'holdfast-solution-'));
  const codes = commands.map((command) => {
    try {
      execFileSync('sh', ['-c', command], { cwd });
      return 0;
    } catch (error) {
      return Object(error).status;
    }
  });
  expect(codes).toEqual([...commands.slice(1).map(() => 0), 3]);
  expect(readFileSync(join(cwd, 'copy'), 'utf8')).toBe(large);
  expect(statSync(join(cwd, 'run')).mode & 0o777).toBe(0o755);
  rmSync(cwd, { recursive: true });
  expect(solutionCommands({ solution: null })).toEqual([]);
});
