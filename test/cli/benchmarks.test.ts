import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readTask } from '../../src/cli/commands/tasks/read-task.js';
import { bytesOf } from '../../src/core/tasks/task-file.js';
import { runHere } from './in-process.js';

/** Benchmarks of others become tasks, and what does not fit is named. */

let dir = '';
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-benchmarks-'));
});
afterAll(() => rmSync(dir, { recursive: true }));

const put = (path: string, content: string | Buffer): string => {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), content);
  return join(dir, path);
};
const lines = (values: readonly unknown[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join('');
const imported = async (place: string, ...more: string[]) => {
  const { code, stdout, stderr } = await runHere(['task', 'import', place, '--json', ...more], {});
  expect(stderr).toBe('');
  return { code, report: JSON.parse(stdout) };
};

const doubled = {
  ...{ task_id: 'Some/0', prompt: 'def double(n):\n    """Twice {{n}}."""\n', entry_point: 'double' },
  ...{ canonical_solution: '    return 2 * n\n', test: 'def check(candidate):\n    assert candidate(2) == 4\n' },
};

it('functions to be completed become tasks; lines that are none are named', async () => {
  const place = put(
    'functions.jsonl.gz',
    gzipSync(
      lines([
        doubled,
        { ...doubled, task_id: 'Some/1', plus_input: [1] },
        { ...doubled, task_id: 'some-1' },
        { ...doubled, task_id: 'Some/2', test: 'assert True' },
        [1],
      ]),
    ),
  );
  const { code, report } = await imported(place, '--out', join(dir, 'functions'));
  expect(code).toBe(1);
  expect(report.tasks.map(({ name }: { name: string }) => name)).toEqual(['some-0', 'some-1']);
  expect(report.left).toEqual([
    { item: 'line 5', why: 'it is no JSON object' },
    { item: 'some-1', why: 'another item has the name some-1' },
    { item: 'Some/2', why: 'its field test defines no function check' },
  ]);
  expect(report.notes).toContainEqual({ text: 'field plus_input: left out', items: ['Some/1'] });
  expect(readdirSync(join(dir, 'functions'))).toEqual(['some-0.yaml', 'some-1.yaml']);
  const task = readTask(join(dir, 'functions/some-0.yaml'));
  expect(task).toMatchObject({
    initialFiles: { 'solution.py': { text: expect.stringContaining('\\{{n}}') } },
    verification: { tests: [{ runner: 'unittest', suite: ['test_solution.py'], tests: 1 }] },
    solution: { files: { 'solution.py': { text: expect.stringContaining('return 2 * n') } } },
  });
  // The tests pass with the reference, and fail without it.
  const text = (file: Parameters<typeof bytesOf>[0] | undefined) => (file ? bytesOf(file).toString() : '');
  const run = (solution: string) => {
    const root = mkdtempSync(join(dir, 'run-'));
    writeFileSync(join(root, 'solution.py'), solution);
    writeFileSync(join(root, 'test_solution.py'), text(task.verification.files['test_solution.py']));
    return spawnSync('python3', ['-m', 'unittest', 'test_solution'], { cwd: root }).status;
  };
  expect([run(text(task.solution?.files['solution.py'])), run(text(task.initialFiles['solution.py']))]).toEqual([0, 1]);
});

it('exercises become tasks with the difficulty of their track; those of other languages are left out', async () => {
  const config = (files: object) => JSON.stringify({ files });
  const at = (slug: string) => `track/exercises/practice/${slug}`;
  put(
    'track/config.json',
    JSON.stringify({ slug: 'python', exercises: { practice: [{ slug: 'leap', difficulty: 7 }] } }),
  );
  put(
    `${at('leap')}/.meta/config.json`,
    config({ solution: ['leap.py'], test: ['leap_test.py'], example: ['.meta/example.py'] }),
  );
  put(`${at('leap')}/.meta/example.py`, 'def leap(year):\n    return year % 4 == 0\n');
  put(`${at('leap')}/.docs/instructions.md`, '# Instructions\n\nFind leap years.\n');
  put(`${at('leap')}/leap.py`, 'def leap(year):\n    pass\n');
  put(`${at('leap')}/leap_test.py`, 'import unittest\n');
  put(`${at('leap')}/LICENSE`, 'MIT');
  put(`${at('leap')}/test_utils.py`, 'LEAP = 4\n');
  put(
    `${at('js')}/.meta/config.json`,
    config({ solution: ['a.js'], test: ['a.spec.js'], example: ['.meta/proof.ci.js'] }),
  );
  put(`${at('gone')}/.meta/config.json`, config({ solution: ['a.py'], test: ['a_test.py'], example: ['.meta/b.py'] }));
  put(`${at('gone')}/.docs/instructions.md`, 'Do it.');
  const { code, report } = await imported(
    join(dir, 'track'),
    '--image',
    'python:3.12',
    '--out',
    join(dir, 'exercises'),
  );
  expect(code).toBe(1);
  expect(report.left).toEqual([
    { item: 'gone', why: 'it names a.py, which is not there' },
    { item: 'js', why: expect.stringContaining('a.spec.js') },
  ]);
  expect(report.notes).toEqual([{ text: 'LICENSE: left out', items: ['leap'] }]);
  expect(readTask(join(dir, 'exercises/exercism-python-leap.yaml'))).toMatchObject({
    ...{ difficulty: 'hard', environment: { image: 'python:3.12' } },
    instruction: '# Instructions\n\nFind leap years.\n\nWrite your solution in `leap.py`.\n',
    verification: { files: { 'test_utils.py': { text: 'LEAP = 4\n' } } },
    solution: { files: { 'leap.py': { text: expect.stringContaining('% 4') } } },
  });
  const alone = await imported(join(dir, at('leap')));
  expect([alone.code, alone.report.tasks.length]).toEqual([0, 1]);
});

it('issues of repositories become tasks, whose tests are judged one by one', async () => {
  const repo = join(dir, 'repo');
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.org', ...args], {
      cwd: repo,
      encoding: 'utf8',
    });
  put('repo/sum.py', 'def total(a, b):\n    return a\n');
  put('repo/test_sum.py', 'from sum import total\n\ndef test_zero():\n    assert total(1, 0) == 1\n');
  git('init', '-q');
  git('add', '.');
  git('commit', '-qm', 'base');
  const base = git('rev-parse', 'HEAD').trim();
  put(
    'repo/test_sum.py',
    'from sum import total\n\ndef test_zero():\n    assert total(1, 0) == 1\n\ndef test_both():\n    assert total(1, 2) == 3\n',
  );
  const testPatch = git('diff');
  git('checkout', '-q', '.');
  put('repo/sum.py', 'def total(a, b):\n    return a + b\n');
  const patch = git('diff');
  git('checkout', '-q', '.');
  const issue = {
    ...{ instance_id: 'acme__sum-1', repo: 'acme/sum', base_commit: base, problem_statement: 'It does not add.' },
    ...{ patch, test_patch: testPatch, difficulty: '<15 min fix', FAIL_TO_PASS: '["test_sum.py::test_both"]' },
    PASS_TO_PASS: ['test_sum.py::test_zero'],
  };
  const place = put(
    'issues.jsonl',
    lines([issue, { ...issue, instance_id: 'd__d-1', FAIL_TO_PASS: ['test_a (app.tests.A)'] }]),
  );
  const { report } = await imported(place, '--out', join(dir, 'issues'));
  expect(report.left).toEqual([{ item: 'd__d-1', why: expect.stringContaining('test_a (app.tests.A)') }]);
  const task = readTask(join(dir, 'issues/acme-sum-1.yaml'));
  expect(task).toMatchObject({
    ...{
      difficulty: 'easy',
      environment: { workdir: '/testbed', image: 'swebench/sweb.eval.x86_64.acme_1776_sum-1:latest' },
    },
  });
  // A program that speaks as pytest does, since not every machine has that.
  put(
    'bin/pytest.py',
    'import importlib.util, os, sys\nprint(os.environ.get("SAID", ""))\nfor path in sys.argv[5:]:\n    sys.path.insert(0, ".")\n    spec = importlib.util.spec_from_file_location("t", path)\n    mod = importlib.util.module_from_spec(spec)\n    spec.loader.exec_module(mod)\n    for name in [n for n in dir(mod) if n.startswith("test_")]:\n        try:\n            getattr(mod, name)()\n            print(f"PASSED {path}::{name}")\n        except AssertionError:\n            print(f"FAILED {path}::{name} - AssertionError")\n',
  );
  for (const [path, file] of Object.entries(task.verification.files)) put(`tests/${path}`, bytesOf(file));
  const grade = (said = '') =>
    spawnSync('python3', ['-P', join(dir, 'tests/grade.py')], {
      ...{ cwd: repo, encoding: 'utf8' },
      env: {
        PATH: process.env['PATH'],
        GRADE_TESTS: join(dir, 'tests'),
        GRADE_TRY: '/usr/bin/env',
        PYTHONPATH: join(dir, 'bin'),
        SAID: said,
      },
    });
  const nothing = grade();
  expect([nothing.status, nothing.stdout.split('\n').slice(0, 2)], nothing.stderr).toEqual([
    1,
    ['1 of 2 tests passed', 'failed  test_sum.py::test_both'],
  ]);
  git('checkout', '-q', '.');
  for (const [path, file] of Object.entries(task.solution?.files ?? {})) put(`repo/${path}`, bytesOf(file));
  execFileSync('sh', ['-c', task.solution?.script ?? 'false'], { cwd: repo });
  // What an agent did to the tests has no effect.
  put('repo/test_sum.py', 'def test_both():\n    pass\n');
  const solved = grade();
  expect([solved.status, solved.stdout], solved.stderr).toEqual([0, '2 of 2 tests passed\n']);
  expect(readFileSync(join(repo, 'test_sum.py'), 'utf8')).toContain('total(1, 2) == 3');
  // Names with spaces, which SWE-bench has whole or cut.
  const named = 'test_sum.py::test_id';
  put('tests/expected.json', JSON.stringify({ base, mustPass: [`${named}[(1,`], mayNotBreak: [`${named}[a - b]`] }));
  const right = [`PASSED ${named}[(1, 2)]`, `PASSED ${named}[(1, 3)]`, `PASSED ${named}[a - b]`];
  expect(grade(right.join('\n')).status).toBe(0);
  expect(grade([...right, `FAILED ${named}[(1, 4)] - assert 1 == 2`].join('\n')).status).toBe(1);
  expect(grade(right.slice(0, 2).join('\n')).status).toBe(1);
});

it('a file that is no benchmark is refused as before', async () => {
  const place = put('other.jsonl', '{"a":1}\n');
  expect((await runHere(['task', 'import', place], {})).code).toBe(1);
  const empty = await runHere(['task', 'import', place, '--format', 'humaneval', '--out', join(dir, 'none')], {});
  expect(empty).toMatchObject({ code: 2, stderr: expect.stringContaining('no item is a task') });
});
