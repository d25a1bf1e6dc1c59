import { Agent } from '@openai/agents';
import { beforeAll, expect, it } from 'vitest';
import { Allowance } from '../../src/core/limits/allowance.js';
import { type ResolvedTask, resolveTask } from '../../src/core/tasks/resolve-task.js';
import type { TaskDefinition } from '../../src/core/tasks/task-definition.js';
import { bytesOf } from '../../src/core/tasks/task-file.js';
import type { TaskVerified } from '../../src/core/tasks/task-reward.js';
import { bashTool, defineAgent, functionModel } from '../../src/index.js';
import { BUSYBOX, DOCKER_HOST, describeDockerSlowly, TOOLS } from '../harness/docker.js';
import { ADMIN, engineFor, eventsOf } from '../harness/engine.js';
import { call, outputAfter, say } from '../harness/script.js';
import { SHIPPED } from './attempt.js';

/**
 * The tasks that ship, by agents that do all of it, nothing, and something wrong first: exactly the expected results. Each agent does a
 * third of them, and with HOLDFAST_TEST_TASKS=all every one.
 */
const ALL = process.env['HOLDFAST_TEST_TASKS'] === 'all';

/** Tasks at once: while one waits for the container engine, others work. */
const AT_ONCE = 8;

/** A bound of everything, which nothing comes near. */
const LONG_MS = 1_800_000;

/** What is random in them follows from it: the reference solution is that of the task as it is executed. */
const SEED = 7;
const RESOLVED = SHIPPED.map((task) => resolveTask(task, { parameters: {}, seed: SEED }, new Allowance()));

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** The reference solution as commands of a shell, or the first half of each of its files. */
function solutionOf({ solution }: ResolvedTask, share: 1 | 0.5): string {
  const files = Object.entries(solution?.files ?? {}).map(([path, file]) => {
    const bytes = bytesOf(file);
    const content = quoted(bytes.subarray(0, bytes.length * share).toString('base64'));
    const directory = path.includes('/') ? `mkdir -p ${quoted(path.replace(/\/[^/]*$/, ''))}; ` : '';
    return `${directory}echo ${content} | base64 -d >${quoted(path)}; chmod ${file.mode} ${quoted(path)}`;
  });
  const script = solution?.script == null || share < 1 ? [] : [`sh -c ${quoted(solution.script)}`];
  return ['set -e', ...files, ...script].join('\n');
}

/** A scripted model that finds what it is to say by the instruction, which is its input. */
const byTask = (name: string, commandsOf: (task: ResolvedTask) => readonly string[]) =>
  functionModel(name, async (request) => {
    const text = JSON.stringify(request.input);
    const task = RESOLVED.find((one) => text.includes(JSON.stringify(one.instruction).slice(1, -1)));
    if (task === undefined) throw new Error(`no task that ships has this instruction: ${text.slice(0, 200)}`);
    const commands = commandsOf(task).map((command, index) => [
      call('bash', { command, timeoutSeconds: 600 }, `c${index}`),
    ]);
    return outputAfter([...commands, [say('done')]], request.input);
  });

const agent = (name: string, commandsOf: (task: ResolvedTask) => readonly string[]) =>
  defineAgent({
    agent: new Agent({ name, model: byTask(name, commandsOf), tools: [bashTool()] }),
    grants: ['container:exec:shell'],
  });

const AGENTS = [
  agent('oracle', (task) => [solutionOf(task, 1)]),
  agent('idle', () => []),
  agent('mends', (task) => [solutionOf(task, 0.5), solutionOf(task, 1)]),
];

/** Isolation has tests of its own. The engine compiles the filter for each program: the usual one costs a third of the time here. */
const seccompProfile = JSON.stringify({
  defaultAction: 'SCMP_ACT_ALLOW',
  syscalls: [{ names: ['keyctl'], action: 'SCMP_ACT_ERRNO' }],
});

/** The tasks of an agent: between them, the agents do each. */
const tasksOf = (name: string): readonly TaskDefinition[] => {
  const place = AGENTS.findIndex(({ agent }) => agent.name === name);
  return ALL ? SHIPPED : SHIPPED.filter((_, index) => index % AGENTS.length === place);
};

/** What is wrong is said by a test, and not by how long something took beside so many others. */
const patient = ({ environment, verification, ...task }: TaskDefinition): TaskDefinition => ({
  ...{ ...task, timeoutSeconds: 3600 },
  environment: {
    ...environment,
    ...{ limits: { ...environment.limits, memoryMb: 256 }, security: { ...environment.security, seccompProfile } },
  },
  verification: {
    ...{ ...verification, timeoutSeconds: 3600 },
    tests: verification.tests.map((test) => ({ ...test, timeoutSeconds: 600 })),
  },
});

/** What it takes to run the tests is in it, and what those for a shell need is no more than busybox. */
const imageOf = ({ tags }: TaskDefinition): string => (tags.includes('shell') ? BUSYBOX : TOOLS);

describeDockerSlowly('agents on tasks that ship', () => {
  const t = engineFor('pglite', { agents: AGENTS, dockerHost: DOCKER_HOST, concurrency: AT_ONCE });

  /** The tasks of each agent. All are submitted at once: the engine is never without work between the tests. */
  const submitted = new Map<string, { readonly id: string; readonly runId: string }[]>();
  beforeAll(async () => {
    for (const { agent } of AGENTS) {
      const mine: { readonly id: string; readonly runId: string }[] = [];
      for (const task of tasksOf(agent.name)) {
        const request = { task: patient(task), agent: agent.name, image: imageOf(task), seed: SEED };
        mine.push(await t.engine.submitTask(request, ADMIN));
      }
      submitted.set(agent.name, mine);
    }
  }, LONG_MS);

  /** What became of each that an agent did. */
  const all = async (name: string) => {
    const ended: Record<string, unknown> = {};
    for (const { id, runId } of submitted.get(name) ?? []) {
      let task = await t.engine.getTask(id, ADMIN);
      while (task.result === null && task.status !== 'paused') {
        await t.engine.getRun(runId, ADMIN, { waitMs: 60_000 });
        task = await t.engine.getTask(id, ADMIN);
      }
      const [verified] = await eventsOf(t.engine, task.runId, 'task.verified');
      const evidence = (verified?.data as TaskVerified | undefined)?.evidence;
      const { totalSteps } = await t.engine.getTrajectory(task.runId, ADMIN);
      ended[task.name] = {
        ...{ status: task.status, attempts: task.attempts, result: task.result?.type ?? null, reward: task.reward },
        ...{ passed: task.verificationPassed, steps: totalSteps, counted: evidence?.steps },
        shares: evidence?.tests.map(({ share }) => share),
        why: task.result?.type === 'error' ? task.result : null,
      };
    }
    return ended;
  };

  const expected = (name: string, of: (task: TaskDefinition) => object) =>
    Object.fromEntries(
      tasksOf(name).map((task) => [task.name, { status: 'completed', attempts: 1, why: null, ...of(task) }]),
    );
  const shares = ({ verification: { tests } }: TaskDefinition, share: 0 | 1) => tests.map(() => share);

  it('the reference solution is a success with the whole reward, in two steps', { timeout: LONG_MS }, async () => {
    const wanted = expected('oracle', (task) => ({
      ...{ result: 'success', reward: 1, passed: true, steps: 2, counted: 2, shares: shares(task, 1) },
    }));
    expect(await all('oracle')).toEqual(wanted);
  });

  it('doing nothing is a failure without a reward: no test passes', { timeout: LONG_MS }, async () => {
    const wanted = expected('idle', (task) => ({
      ...{ result: 'failure', reward: 0, passed: false, steps: 1, counted: 1, shares: shares(task, 0) },
    }));
    expect(await all('idle')).toEqual(wanted);
  });

  it('what is wrong first and right then is a success, and loses what its step more than expected costs', {
    timeout: LONG_MS,
  }, async () => {
    const wanted = expected('mends', (task) => ({
      ...{ result: 'success', reward: rewardIn3(task), passed: true, steps: 3, counted: 3, shares: shares(task, 1) },
    }));
    expect(await all('mends')).toEqual(wanted);
  });
});

/** Of a success in three steps: where two are expected a third of the signal of efficiency is lost, which is a tenth of it all. */
const rewardIn3 = ({ estimatedSteps, verification: { lint } }: TaskDefinition): number => {
  if ((estimatedSteps?.min ?? 0) >= 3) return 1;
  return lint === null ? 0.962963 : 0.966667;
};
