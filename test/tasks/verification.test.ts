import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { bashTool, defineAgent, functionModel, type SubmitTask } from '../../src/index.js';
import { BUSYBOX, DOCKER_HOST, describeDocker, describeDockerSlowly } from '../harness/docker.js';
import { ADMIN, dataOf, engineFor, eventsOf } from '../harness/engine.js';
import { containersOn, dockerOf, leftOn } from '../harness/on-docker.js';
import { call, type Output, resultsIn, say, scripted } from '../harness/script.js';
import { ownVersion } from './own-version.js';

/** What becomes of tasks: agents that do them, do nothing, do a part, cheat or run into a limit, and engines that fail. */

const docker = dockerOf(DOCKER_HOST);
const bash = (command: string, id = command) => call('bash', { command }, id);
const agent = (name: string, outputs: readonly Output[], changes: object = {}) =>
  defineAgent({
    agent: new Agent({ name, model: scripted(outputs), tools: [bashTool()] }),
    ...{ grants: ['container:exec:shell'], ...changes },
  });

const SOLUTION = `printf '#!/bin/sh\\necho $(($1 + $2))\\n' >add.sh; chmod +x add.sh`;

function talker({ input }: { readonly input: unknown }) {
  const results = resultsIn(input);
  const mark = /canary-\w+/.exec(results[0]?.text ?? '')?.[0];
  const turns = [
    [bash('cat notes', 'look')],
    [say(`It is ${mark}.`), bash(SOLUTION, 'solve')],
    [bash(`echo ${mark} >/dev/null`, 'echo')],
  ];
  return turns[results.length] ?? [say('done')];
}

const AGENTS = [
  agent('oracle', [[bash(SOLUTION, 'solve')], [say('done')]]),
  agent('idle', [[say('I have done it.')]]),
  // Right for small numbers alone, at first.
  agent('flawed', [[bash(`printf '#!/bin/sh\\necho 3\\n' >add.sh; chmod +x add.sh`, 'flaw')], [say('done')]]),
  agent('mends', [
    [bash(`echo 'echo 3' >add.sh; chmod +x add.sh`, 'flaw')],
    [bash('./add.sh 4 5', 'look')],
    [bash(SOLUTION, 'mend')],
    [say('done')],
  ]),
  agent('slow', [[bash(SOLUTION, 'solve')], [bash('sleep 60', 'sleep')]]),
  agent('endless', [[bash(SOLUTION, 'solve')], ...Array.from({ length: 9 }, (_, n) => [bash(`true ${n}`, `t${n}`)])]),
  agent('cheat', [[bash('cat notes; echo 1234567891 >answer.txt', 'cheat')], [bash(SOLUTION, 'solve')], [say('done')]]),
  // It says what it read beside a call, and in a command, and not in the end.
  defineAgent({
    agent: new Agent({ name: 'talker', model: functionModel('talker', talker), tools: [bashTool()] }),
    grants: ['container:exec:shell'],
  }),
  agent('hider', [
    [
      bash(
        'head -c 3000000 /dev/zero >big; echo 1234567891 >>big; mkdir .git; echo 1234567891 >.git/x; chmod 0 .git',
        'hide',
      ),
    ],
    [bash(SOLUTION, 'solve')],
    [say('done')],
  ]),
  // Its answer repeats what it read.
  agent('nosy', [[bash('ls /tmp /tmp/tests; cat notes; env', 'look')]]),
];

const definition = {
  ...{ name: 'add', version: '1.0.0', category: 'shell', difficulty: 'easy' as const },
  instruction: 'Write add.sh, which prints the sum of its arguments.',
  environment: { image: BUSYBOX, limits: { memoryMb: 128, maxProcesses: 64 } },
  initialFiles: { notes: 'Use sh.\n', 'bin/tool': { text: '#!/bin/sh\necho tool\n', mode: '755' as const } },
  verification: {
    files: { 'lib/equal.sh': `[ "$1" = "$2" ] || { echo "$1 is not $2" >&2; exit 3; }\n` },
    tests: [
      { name: 'small', command: 'sh /tmp/tests/lib/equal.sh "$(./add.sh 1 2)" 3', weight: 1 },
      { name: 'large', command: 'sh /tmp/tests/lib/equal.sh "$(./add.sh 40 2)" 42', weight: 3 },
    ],
    compile: 'sh -n add.sh',
  },
  estimatedSteps: { min: 2, max: 4 },
  ...{ maxTurns: 6, timeoutSeconds: 60 },
};
type Definition = typeof definition;

function use() {
  const t = engineFor('pglite', {
    agents: AGENTS,
    ...{ dockerHost: DOCKER_HOST, dockerPatienceMs: 500 },
    rewards: {
      listed: async ({ environment, verdict, evidence }) => {
        const { stdout } = await environment.run(['ls']);
        return {
          reward: 0.75,
          signals: { files: stdout.text.split('\n').length - 1 },
          reason: `${verdict.reward} ${evidence.steps}`,
        };
      },
      broken: () => {
        throw new Error('it is broken');
      },
    },
  });
  const submit = (name: string, changes: object = {}, more: Partial<SubmitTask> = {}) =>
    t.engine.submitTask({ task: ownVersion({ ...definition, ...changes }) as Definition, agent: name, ...more }, ADMIN);
  const over = async (name: string, changes: object = {}, more: Partial<SubmitTask> = {}) => {
    const { id, runId } = await submit(name, changes, more);
    await t.engine.getRun(runId, ADMIN, { waitMs: 60_000 });
    return t.engine.getTask(id, ADMIN);
  };
  const verifiedOf = async (runId: string) =>
    (await dataOf(t.engine, runId, 'task.verified'))[0] as never as {
      evidence: { tests: { name: string; share: number; exitCode: number; stderr: string }[] };
      verdict: { reward: number; signals: { name: string; value: number | null; weight: number; why: string }[] };
    };

  return {
    get engine() {
      return t.engine;
    },
    restart: t.restart,
    submit,
    over,
    verifiedOf,
  };
}

describeDocker('tasks', () => {
  const on = use();

  it('a right solution is a success, with its reward explained, and nothing of it is left', async () => {
    const task = await on.over('oracle');
    expect(task).toMatchObject({ status: 'completed', result: { type: 'success', reward: 1 }, reward: 1 });
    const { evidence, verdict } = await on.verifiedOf(task.runId);
    expect(evidence.tests.map(({ name, share }) => [name, share])).toEqual([
      ['small', 1],
      ['large', 1],
    ]);
    expect(verdict.signals).toEqual([
      { name: 'test_pass', value: 1, weight: 0.555556, why: '2 of 2 tests passed, which are 100 % by their weights.' },
      { name: 'compilation', value: 1, weight: 0.111111, why: 'It compiles.' },
      {
        name: 'progress',
        value: 1,
        weight: 0.222222,
        why: 'Of each test 100 % passed on average, whatever its weight.',
      },
      { name: 'efficiency', value: 1, weight: 0.111111, why: 'It took 2 steps, of 2 to 4 that are expected.' },
      { name: 'code_quality', value: null, weight: 0, why: 'Not measured: the task has no command for it.' },
    ]);
    const { items } = await on.engine.listRewards(task.runId, { after: 0, limit: 5 }, ADMIN);
    expect(items).toMatchObject([{ version: 1, actor: 'verifier', reward: 1, verificationPassed: true, intact: true }]);
    const { steps } = await on.engine.getTrajectory(task.runId, ADMIN);
    expect(steps.map(({ state, reward }) => [state.workingDirectory, state.exitCode, reward])).toEqual([
      ['/work', null, null],
      ['/work', 0, 1],
    ]);
    expect(await on.engine.verifyRun(task.runId, ADMIN)).toMatchObject({ ok: true, complete: true });
    const kinds = (await eventsOf(on.engine, task.runId)).map(({ kind }) => kind);
    expect(kinds.slice(-2)).toEqual(['task.verified', 'run.completed']);
    const replay = await on.engine.replayRun(task.runId, {}, ADMIN);
    expect(replay).toMatchObject({ result: 'same', executed: 0 });
    await expect.poll(() => leftOn(DOCKER_HOST, task.runId), { timeout: 60_000 }).toBe(0);
  });

  it('doing nothing is a failure without reward', async () => {
    expect(await on.over('idle')).toMatchObject({
      ...{ status: 'completed', reward: 0, verificationPassed: false },
      result: { type: 'failure', reason: '2 of 2 tests did not pass: small (exit code 3), large (exit code 3).' },
    });
  });

  it('doing a part is a partial success that names what is missing; mending it is a success that took longer', async () => {
    const part = await on.over('flawed');
    expect(part).toMatchObject({ verificationPassed: false, reward: 0.361111 });
    expect(part.result).toEqual({
      ...{ type: 'partial_success', reward: 0.361111 },
      missing: ['efficiency', 'progress', 'test:large', 'test_pass'],
    });
    expect((await on.verifiedOf(part.runId)).evidence.tests[1]).toMatchObject({ exitCode: 3, stderr: '3 is not 42\n' });
    expect(await on.over('mends')).toMatchObject({ result: { type: 'success' }, reward: 0.944444 });
  });
});

describeDockerSlowly('tasks that end otherwise', () => {
  const on = use();

  it('who is ended by a limit is judged by what is there', async () => {
    expect(await on.over('endless')).toMatchObject({
      ...{ status: 'failed', verificationPassed: true },
      result: { type: 'partial_success', missing: ['completion', 'efficiency'] },
    });
    const late = await on.over('slow', { timeoutSeconds: 10 });
    expect(late).toMatchObject({ status: 'failed', result: { type: 'partial_success', missing: ['completion'] } });
    const nothing = await on.over('slow', {
      timeoutSeconds: 2,
      verification: { tests: [{ name: 'no', command: 'false' }] },
    });
    expect(nothing).toMatchObject({ status: 'failed', result: { type: 'timeout' }, reward: 0 });
  });

  it('what is written down is found, and the agent sees nothing of tests and canaries', async () => {
    const task = await on.over('cheat', { expectedOutputs: ['1234567891'] });
    expect(task).toMatchObject({ reward: 0, verificationPassed: false, result: { type: 'failure' } });
    expect(JSON.stringify(task.result)).toContain('answer.txt, line 1, holds expected output 1');
    const allowed = { expectedOutputs: ['1234567891'], antiHardcoding: { outputFiles: ['answer.txt'] } };
    expect(await on.over('cheat', allowed)).toMatchObject({ result: { type: 'success' } });
    const hidden = await on.over('hider', { expectedOutputs: ['1234567891'] });
    expect(hidden).toMatchObject({ reward: 0, verificationPassed: false, result: { type: 'failure' } });
    expect(JSON.stringify(hidden.result)).toMatch(/\.git\/x, line 1, holds expected output 1/);
    expect(JSON.stringify(hidden.result)).toMatch(/big, line 1, holds expected output 1/);
    const canaries = {
      initialFiles: { notes: 'Do not copy this: {{mark}}\n' },
      antiHardcoding: { canaries: ['mark'] },
    };
    expect((await on.over('talker', canaries, { seed: 1 })).result).toMatchObject({
      type: 'failure',
      reason: expect.stringContaining('turn 2 holds the canary mark; turn 3 holds the canary mark.'),
    });
    const nosy = await on.over('nosy', canaries, { seed: 1 });
    expect(JSON.stringify(await eventsOf(on.engine, nosy.runId, 'call.finished'))).not.toContain('equal.sh');
    expect(nosy.result).toMatchObject({
      type: 'failure',
      reason: expect.stringContaining('answer holds the canary mark'),
    });
  });

  it('tests say themselves how much of them passed, and are ended in their time', async () => {
    const graded = {
      tests: [
        {
          name: 'graded',
          command: 'echo 0.25 >/tmp/reward.txt; exit 1',
          rewardFiles: ['/tmp/reward.json', '/tmp/reward.txt'],
        },
        { name: 'object', command: `echo '{"reward": 1}' >/tmp/reward.json`, rewardFiles: ['/tmp/reward.json'] },
        { name: 'late', command: 'sleep 30', timeoutSeconds: 1 },
        { name: 'unsaid', command: 'true', rewardFiles: ['/tmp/none.txt'] },
      ],
    };
    const task = await on.over('idle', { verification: graded, estimatedSteps: null });
    expect((await on.verifiedOf(task.runId)).evidence.tests).toMatchObject([
      { name: 'graded', share: 0.25 },
      { name: 'object', share: 1 },
      { name: 'late', share: 0, timedOut: true },
      { name: 'unsaid', share: 0 },
    ]);
    expect(task.result).toMatchObject({
      missing: ['progress', 'test:graded', 'test:late', 'test:unsaid', 'test_pass'],
    });
    const short = {
      timeoutSeconds: 1,
      tests: [
        { name: 'a', command: 'sleep 5' },
        { name: 'b', command: 'true' },
      ],
    };
    const ended = await on.over('idle', { verification: short });
    expect((await on.verifiedOf(ended.runId)).evidence.tests).toMatchObject([
      { name: 'a', timedOut: true },
      { name: 'b', timedOut: true, exitCode: null },
    ]);
  });

  it('a reward function gives the reward, where the tests ran', async () => {
    const task = await on.over('oracle', {}, { reward: 'listed' });
    expect(task).toMatchObject({ result: { type: 'success', reward: 0.75 }, verificationPassed: true });
    const { items } = await on.engine.listRewards(task.runId, { after: 0, limit: 5 }, ADMIN);
    expect(items[0]).toMatchObject({ reward: 0.75, reason: '1 2', signals: { files: 3, test_pass: 1 } });
    expect(await on.over('oracle', {}, { reward: 'broken' })).toMatchObject({
      ...{ status: 'failed', reward: null },
      result: { type: 'error', code: 'verification_failed', reason: 'verify:reward: it is broken' },
    });
  });

  it('what fails with engine or image is an error, never a failed test', async () => {
    expect(await on.over('idle', {}, { image: 'holdfast-test/none:1' })).toMatchObject({
      ...{ status: 'failed', reward: null },
      result: { type: 'error', code: 'image_unknown' },
    });
    await on.restart({ dockerHost: 'unix:///tmp/holdfast-no-engine.sock', retries: { most: 0 } });
    expect(await on.over('idle')).toMatchObject({ result: { type: 'error', code: 'engine_unreachable' } });
    await on.restart();
  });

  it('is cancelled while it is verified, and leaves nothing', async () => {
    const { id, runId } = await on.submit('oracle', {
      verification: { tests: [{ name: 'long', command: 'touch began; sleep 60' }] },
    });
    for (;;) {
      const found = await containersOn(DOCKER_HOST, runId);
      const tops = await Promise.all(
        found.map(({ Id }) =>
          docker
            .getContainer(Id)
            .top()
            .catch(() => ({ Processes: [] })),
        ),
      );
      if (JSON.stringify(tops).includes('sleep 60')) break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await on.engine.cancelTask(id, 'enough', ADMIN);
    await on.engine.getRun(runId, ADMIN, { waitMs: 20_000 });
    expect(await on.engine.getTask(id, ADMIN)).toMatchObject({ status: 'cancelled', reward: null });
    await expect.poll(() => leftOn(DOCKER_HOST, runId), { timeout: 60_000 }).toBe(0);
  });
});
