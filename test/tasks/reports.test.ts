import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { TRY_PATH } from '../../src/core/tasks/task-verification.js';
import type { SubmitTask } from '../../src/index.js';
import { BUSYBOX, DOCKER_HOST, describeDockerSlowly } from '../harness/docker.js';
import { ADMIN, dataOf, engineFor } from '../harness/engine.js';
import { leftOn } from '../harness/on-docker.js';
import { obedient, told } from './obedient.js';
import { ownVersion } from './own-version.js';

/** Reports that a test writes itself, in TAP and in JUnit's XML, and programs that try to write them in its place. */

const CASES = [
  [1, 2, 3],
  [4, 5, 9],
] as const;

/** As careless as a test may be: it does not catch what the program prints. */
const TAP = `
echo 1..2
${CASES.map(
  ([a, b, sum], index) => `${TRY_PATH} sh add.sh ${a} ${b}${index === 0 ? '' : ' 2>&1'}
[ $? = ${sum} ] && echo 'ok ${index + 1}' || echo 'not ok ${index + 1}'`,
).join('\n')}
`;
const JUNIT = `
report() {
  echo '<testsuite>'
  ${CASES.map(
    ([a, b, sum]) => `${TRY_PATH} sh add.sh ${a} ${b} >/tmp/printed 2>&1
  [ $? = ${sum} ] && echo '<testcase name="${sum}"/>' || echo '<testcase name="${sum}"><failure/></testcase>'`,
  ).join('\n  ')}
  echo '</testsuite>'
}
report >/tmp/report.xml
`;

const verification = {
  files: { 'tap.sh': TAP, 'junit.sh': JUNIT },
  tests: [
    { name: 'tap', runner: 'tap' as const, command: ['sh', '/tmp/tests/tap.sh'], tests: 2, timeoutSeconds: 30 },
    {
      ...{ name: 'junit', runner: 'junit' as const, command: ['sh', '/tmp/tests/junit.sh'], tests: 2 },
      ...{ rewardFiles: ['/tmp/report.xml'], timeoutSeconds: 30 },
    },
  ],
};

const PASSED = '<testsuite><testcase/><testcase/></testsuite>';
const places = '/tmp/report.xml /tmp/.tests-report/printed /tmp/.tests-report/sentinel';

/** What add.sh does before it ends with 0, which is no sum that is asked for. */
const TRICKS: Readonly<Record<string, string>> = {
  'print the results': 'echo ok 1; echo ok 2',
  'print the whole report': 'printf "1..2\\nok 1\\nok 2\\n"',
  'print a result and make a comment of the next line': 'printf "ok $(((($1 + 1)) / 2))\\n# "',
  'print a result on the error stream and make a comment of the next line':
    'n=$(((($1 + 1)) / 2)); printf "ok $n\\n# "; [ $1 = 1 ] || printf "ok 2\\n# " >&2',
  'write to the streams of others': `for fd in /proc/[0-9]*/fd/*; do printf "ok 1\\nok 2\\n# " >"$fd"; done 2>/dev/null`,
  'write reports': `for at in ${places}; do rm -f $at; echo '${PASSED}' >$at; done 2>/dev/null`,
  'link their own report': `echo '${PASSED}' >mine.xml; for at in ${places}; do rm -f $at; ln -s /work/mine.xml $at; ln mine.xml $at; done 2>/dev/null`,
  'leave a program that writes reports later': `(trap "" HUP TERM; while :; do for at in ${places}; do echo '${PASSED}' >$at; done; done >/dev/null 2>&1 &)`,
  'kill who tries them': 'kill -9 $PPID 0; kill -9 -1',
  'fill what is in memory': 'head -c 500000000 /dev/zero >/tmp/full; head -c 500000000 /dev/zero >/tmp/fuller',
  'close their streams': 'exec 0<&- 1>&- 2>&-',
  'print without end': 'timeout 3 yes "ok 1"',
};

const definition = {
  ...{ name: 'sum', version: '1.0.0', category: 'shell', difficulty: 'easy' as const },
  environment: { image: BUSYBOX, limits: { memoryMb: 256, maxProcesses: 64 } },
};

describeDockerSlowly('a report', () => {
  const t = engineFor('pglite', { agents: [obedient], dockerHost: DOCKER_HOST, concurrency: 3 });

  const endOf = async (program: string) => {
    const write = `printf %s ${Buffer.from(program).toString('base64')} | base64 -d >add.sh`;
    const task = ownVersion({ ...definition, instruction: told(write), verification });
    const { id, runId } = await t.engine.submitTask({ task, agent: 'obedient' } as SubmitTask, ADMIN);
    while (!['completed', 'failed'].includes((await t.engine.getRun(runId, ADMIN, { waitMs: 60_000 })).status));
    while ((await leftOn(DOCKER_HOST, runId)) > 0) await sleep(100);
    const [verified] = await dataOf(t.engine, runId, 'task.verified');
    const { evidence } = verified as never as { evidence: { tests: { share: number; why?: string }[] } };
    const { reward } = await t.engine.getTask(id, ADMIN);
    return { reward, tests: evidence.tests.map(({ share, why }) => [share, why]) };
  };

  it('counts what is right, whatever it prints', async () => {
    const all = [1, undefined];
    expect(await endOf('echo "not ok 1"; echo "1..7" >&2; exit $(($1 + $2))')).toEqual({
      reward: 1,
      tests: [all, all],
    });
  }, 300_000);

  it('counts what is half right', async () => {
    const half = [0.5, '1 passed, 1 failed, 0 skipped'];
    expect((await endOf('exit 9')).tests).toEqual([half, half]);
  }, 300_000);

  it.concurrent.each(Object.entries(TRICKS))(
    'is not written by programs that %s',
    async (_what, program) => {
      const { reward, tests } = await endOf(`${program}\nexit 0\n`);
      expect(tests.map(([share]) => share)).toEqual([0, 0]);
      expect(reward).toBe(0);
    },
    600_000,
  );
});
