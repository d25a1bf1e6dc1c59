import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { taskDefinition } from '../../../src/core/tasks/task-definition.js';
import {
  countsAfter,
  countsOfGo,
  countsOfJunit,
  countsOfTap,
  shareByCounts,
} from '../../../src/core/tasks/test-report.js';
import { aTask } from './a-task.js';

/** Reports that go 1.26, pytest 9.2 and node 20.20 have written, and what none of them writes. */
const recorded = (name: string): string =>
  readFileSync(join(import.meta.dirname, '../../golden/test-reports', name), 'utf8');

const SUITE = { packages: ['.'], names: ['TestAdd', 'TestMore', 'TestNo'] };

it('of a runner of ours the last line counts, behind the sentinel', () => {
  const counts = { passed: 3, failed: 1, skipped: 2 };
  expect(countsAfter('noise\nabc 3 1 2\n', 'abc')).toEqual(counts);
  for (const [report, sentinel] of [
    ['', ''],
    [' 3 0 0', ''],
    ['abc 3 1 2\nabd 9 0 0\n', 'abc'],
    ['abc 3 1 2\nlater\n', 'abc'],
    ['abc 3 1\n', 'abc'],
    ['abc -3 1 2\n', 'abc'],
    ['abc 3 1 1e9\n', 'abc'],
    ['xabc 3 1 2\n', 'abc'],
  ] as const)
    expect(countsAfter(report, sentinel), report).toEqual({ why: 'its runner did not come to its end' });
});

it('of Go each test of the suite counts, none behind the sentinel, and each package ends with it', () => {
  const report = recorded('go-test.jsonl');
  expect(countsOfGo(report, 'SENT', SUITE)).toEqual({ passed: 2, failed: 0, skipped: 1 });
  expect(countsOfGo(report, 'SENT', { ...SUITE, names: ['TestAdd'] })).toEqual({ passed: 1, failed: 0, skipped: 0 });
  expect(countsOfGo(report, 'OTHER', SUITE)).toMatchObject({ why: /end/ });
  expect(countsOfGo(report, '', SUITE)).toMatchObject({ why: /end/ });
  expect(countsOfGo(report, 'SENT', { ...SUITE, packages: ['.', 'other'] })).toMatchObject({ why: /end/ });
  const late = `${report}{"Action":"pass","Package":".","Test":"TestAdd"}\n`;
  expect(countsOfGo(late, 'SENT', SUITE)).toMatchObject({ why: /behind/ });
});

it('of TAP the plan and each result of it', () => {
  expect(countsOfTap(recorded('node.tap'))).toEqual({ passed: 3, failed: 0, skipped: 1 });
  expect(countsOfTap('TAP version 13\nok 1 - a\nnot ok 2 - b\nok 3 - c # TODO later\n1..3\n')).toEqual({
    ...{ passed: 1, failed: 1, skipped: 1 },
  });
  for (const broken of [
    'ok 1\nok 2\n',
    '1..3\nok 1\nok 2\n',
    '1..1\n1..1\nok 1\n',
    '1..2\nok 1\nok 1\n',
    '1..1\nok 1\nBail out!\n',
  ])
    expect(countsOfTap(broken), broken).toMatchObject({ why: expect.any(String) });
});

it('of JUnit each test case', () => {
  expect(countsOfJunit(recorded('pytest.xml'))).toEqual({ passed: 1, failed: 2, skipped: 1 });
  const quoted =
    '<testsuite><testcase name="a > <failure/>"/><testcase name="b"><![CDATA[<failure/>]]></testcase></testsuite>';
  expect(countsOfJunit(quoted)).toEqual({ passed: 2, failed: 0, skipped: 0 });
  expect(countsOfJunit('<testsuites/>')).toEqual({ passed: 0, failed: 0, skipped: 0 });
  for (const broken of [
    '',
    '<html></html>',
    '<testsuite><testcase name="a"/>',
    '<testsuite><testcase name="a"></testsuite>',
    '<testsuite><testcase><testcase/></testcase></testsuite>',
    '<testsuite><testcase/></testsuite><testsuite><testcase/></testsuite>',
    '<testsuite><testcase/><!-- </testsuite>',
    '<testsuite><testcase name="a></testsuite>',
  ])
    expect(countsOfJunit(broken), broken).toEqual({ why: 'it is no whole JUnit report' });
});

it('of JUnit are read in one pass, whatever was written', () => {
  const parts = ['<testcase>', '<testcase ', '<testcase "', '<![CDATA[', '<!--', '<?', '<a>', '</testcase>', '<'];
  const begun = performance.now();
  for (const part of parts)
    expect(countsOfJunit(`<testsuite>${part.repeat(200_000)}</testsuite>`)).toHaveProperty('why');
  expect(performance.now() - begun).toBeLessThan(5000);
});

it('no test, one too many and one that was skipped are not earned', () => {
  const shareOf = (passed: number, failed: number, skipped: number, expected: number | null = null) =>
    shareByCounts({ passed, failed, skipped }, expected).share;
  expect([shareOf(0, 0, 0), shareOf(0, 0, 3), shareOf(3, 1, 0), shareOf(3, 0, 1), shareOf(3, 0, 0)]).toEqual([
    ...[0, 0, 0.75, 0.75, 1],
  ]);
  expect([shareOf(3, 0, 0, 4), shareOf(4, 0, 0, 4), shareOf(5, 0, 0, 4)]).toEqual([0.75, 1, 0]);
});

it('a test names a runner with its suite, or a command', () => {
  const problemsOf = (test: object) => {
    const parsed = taskDefinition.safeParse(aTask({ verification: { tests: [{ name: 'one', ...test }] } }));
    return parsed.success
      ? []
      : parsed.error.issues.map(({ path, message }) => `${path.at(-1)?.toString()} ${message}`);
  };
  const files = { 'test_add.py': 'x', 'more/test_x.py': 'x', 'x.js': 'x' };
  expect(problemsOf({ runner: 'unittest', suite: ['test_add.py', 'more'], tests: 12, files })).toEqual([]);
  expect(problemsOf({ runner: 'tap', command: 'prove', tests: 3 })).toEqual([]);
  expect(problemsOf({ runner: 'junit', command: 'x', rewardFiles: ['/tmp/tests/x.xml'] })).toEqual([]);
  expect(problemsOf({})).toEqual(['command is missing']);
  expect(problemsOf({ command: 'x', tests: 3 })).toEqual(['tests needs a `runner`, which counts them']);
  expect(problemsOf({ runner: 'pytest' })).toEqual(['suite names the files that pytest runs']);
  expect(problemsOf({ runner: 'junit', command: 'x' })).toEqual(['rewardFiles name the JUnit report']);
  expect(problemsOf({ runner: 'jest', suite: ['../x'] })).toContain('0 is no path below /tmp/tests');
  expect(problemsOf({ runner: 'jest', suite: ['x.js'], command: 'x', files })).toHaveLength(1);
  expect(problemsOf({ runner: 'jest', suite: ['x.js'], apart: true, files })).toEqual([
    'apart is for the runner node:test: with jest the program is in the process of the tests, and can forge the counts',
  ]);
  const missing = (at: number, path: string) =>
    `${at} names "${path}", which is no file of verification.files or of the test`;
  expect(problemsOf({ runner: 'pytest', suite: ['test_add.py', 'test_ad.py'], files })).toEqual([
    missing(1, 'test_ad.py'),
  ]);
  expect(problemsOf({ runner: 'go test', suite: ['more'], files })).toEqual([missing(0, 'more')]);
});
