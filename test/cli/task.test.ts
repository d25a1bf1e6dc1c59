import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { placeOf, readTask } from '../../src/cli/commands/tasks/read-task.js';
import { taskHashOf } from '../../src/core/tasks/task-definition.js';
import { aTask } from '../core/tasks/a-task.js';
import { runHere } from './in-process.js';

let dir = '';
const before = process.cwd();
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-task-'));
  process.chdir(dir);
});
afterAll(() => {
  process.chdir(before);
  rmSync(dir, { recursive: true });
});

const task = (...args: string[]) => runHere(['task', ...args], {});
/** A directory with a task, and what else is named. */
function folder(name: string, files: Readonly<Record<string, string>>): string {
  for (const [path, text] of Object.entries({ 'task.yaml': JSON.stringify(aTask()), ...files })) {
    mkdirSync(join(dir, name, path, '..'), { recursive: true });
    writeFileSync(join(dir, name, path), text);
  }
  return name;
}

it('a new task is right, and is not written over', async () => {
  expect(await task('new', 'sort-lines')).toMatchObject({ code: 0, stdout: expect.stringContaining('sort-lines') });
  const checked = await task('check', 'sort-lines');
  expect(checked).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /^right {2}sort-lines 1\.1\.0: 4 tests, 1 files, 1 of tests in \/tmp\/tests, sha256:/,
    ),
  });
  expect(await task('new', 'sort-lines')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('is there already'),
  });
  for (const name of ['../x', 'A b', '']) expect(await task('new', name)).toMatchObject({ code: 2 });
  expect(await task('new', 'other', '--from', 'sort-lines')).toMatchObject({ code: 0 });
  expect(readTask('other')).toEqual({ ...readTask('sort-lines'), name: 'other' });
  expect(readdirSync(dir).sort()).toEqual(['other', 'sort-lines']);
});

it('a task that ships is known by its name, where no file has it', async () => {
  expect(placeOf('count-words')).toMatch(/src\/tasks\/count-words$/);
  expect(await task('check', 'count-words', '--json')).toMatchObject({ code: 0 });
  for (const name of ['..', '.', '../tasks', 'nothing'])
    if (!existsSync(name))
      expect(await task('check', name)).toMatchObject({ code: 1, stderr: expect.stringContaining('task_unreadable') });
});

it('every problem is printed with its field, and the way out', async () => {
  writeFileSync('wrong.yaml', 'name: Wrong\nversion: 1.0.0\ninstruction: "{{n}}"\n');
  const { code, stdout, stderr } = await task('check', 'wrong.yaml');
  expect(code).toBe(1);
  expect(
    stdout
      .trim()
      .split('\n')
      .map((line) => line.replace(/:.*/, '')),
  ).toEqual(['wrong  /name', 'wrong  /category', 'wrong  /difficulty', 'wrong  /environment', 'wrong  /verification']);
  expect(stderr).toBe(
    'holdfast: wrong.yaml has 5 problems. (task_invalid)\n  Correct the fields that are named; docs/tasks/definition.md describes each one.\n',
  );
  const asJson = JSON.parse((await task('check', 'wrong.yaml', '--json')).stdout);
  expect(asJson).toMatchObject({ ok: false, code: 'task_invalid', problems: { length: 5 } });
});

it('a directory says the same as one file', () => {
  const whole = {
    ...aTask(),
    initialFiles: { 'src/a.py': 'x = 1\n' },
    verification: { ...aTask().verification, files: { 'check.py': 'pass\n' } },
    solution: { script: 'true\n', files: { 'src/a.py': 'x = 2\n' } },
  };
  writeFileSync('whole.json', JSON.stringify(whole));
  const parts = folder('parts', {
    'task.yaml': JSON.stringify({ ...aTask(), instruction: undefined }),
    'instruction.md': aTask().instruction,
    'files/src/a.py': 'x = 1\n',
    'tests/check.py': 'pass\n',
    'solution/solve.sh': 'true\n',
    'solution/src/a.py': 'x = 2\n',
  });
  expect(taskHashOf(readTask(parts))).toBe(taskHashOf(readTask('whole.json')));
});

it.each<[string, Readonly<Record<string, string>>]>([
  ['says the same, too', { 'instruction.md': 'Another.' }],
  ['is no part of a task', { 'other.py': '' }],
  ['is no YAML', { 'task.yaml': 'a: [' }],
  ['is no YAML', { 'task.yaml': 'a: 1\na: 2\n' }],
  [
    'alias',
    {
      'task.yaml': `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghi'.replaceAll(/./g, (c, at: number) => `${c}: &${c} [${`*${'abcdefgh'[at]},`.repeat(9)}]\n`)}`,
    },
  ],
  ['/files', { 'task.yaml': JSON.stringify({ ...aTask(), files: {} }) }],
])('a directory with a problem is refused: %s', async (why, files) => {
  const name = folder(`bad-${Math.abs(taskHash(why + JSON.stringify(files)))}`, files);
  const { code, stdout, stderr } = await task('check', name);
  expect(code).toBe(1);
  expect(stdout + stderr).toContain(why);
});
const taskHash = (text: string): number => [...text].reduce((sum, char) => (sum * 31 + char.charCodeAt(0)) | 0, 7);

it('nothing outside is read, nothing else than a file opened, and nothing large', async () => {
  const refused = async (name: string, why: string) =>
    expect(await task('check', name)).toMatchObject({ code: 1, stderr: expect.stringContaining(why) });
  symlinkSync('/etc/passwd', join(folder('link', { 'files/a': '' }), 'files/passwd'));
  await refused('link', 'it is a symbolic link');
  symlinkSync('/etc', join(folder('link-dir', { 'files/a': '' }), 'files/etc'));
  await refused('link-dir', 'it is a symbolic link');
  execFileSync('mkfifo', [join(folder('pipe', { 'files/a': '' }), 'files/pipe')]);
  await refused('pipe', 'it is no regular file');
  truncateSync(join(folder('large', { 'files/a': '' }), 'files/a'), 2_000_000);
  await refused('large', 'it is larger than 1500000 bytes');
  folder('many', Object.fromEntries(Array.from({ length: 1501 }, (_, n) => [`files/${n}`, ''])));
  await refused('many', 'it holds more than 1500 files');
  folder('deep', { [`files/${'d/'.repeat(20)}x`]: '' });
  await refused('deep', 'directories deep');
});
