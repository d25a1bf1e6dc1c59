import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from '@openai/agents';
import { LOCAL_CALLER } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { Allowance } from '../../core/limits/allowance.js';
import { resolveTask } from '../../core/tasks/resolve-task.js';
import { solutionCommands } from '../../core/tasks/solution-commands.js';
import { parseTask, type TaskDefinition } from '../../core/tasks/task-definition.js';
import { taskVerified } from '../../core/tasks/task-reward.js';
import { type ValidatedTask, type ValidationAttempt, validatedTask } from '../../core/tasks/validation.js';
import { functionModel } from '../../models/providers/function-model.js';
import { bashTool } from '../../tools/container/bash.js';
import { defineAgent } from '../agents/define.js';
import { createEngine } from '../create-engine.js';
import type { Engine } from '../engine.js';

/** Tries tasks without a model: one agent does what the reference solution says, the other does nothing. */

export interface ValidateOptions {
  /** How often each agent does each task. */
  readonly repeat: number;
  /** Attempts at once. */
  readonly atOnce: number;
  /** What is random in the tasks follows from it. */
  readonly seed: number;
  /** In place of those of the tasks; null: theirs. */
  readonly image: string | null;
  readonly dockerHost: string | null;
  readonly dockerCertPath: string | null;
  /** Ends the attempts that work; what has not begun is left out. */
  readonly signal: AbortSignal;
  /** Called for each task when its last attempt is over. */
  readonly onTask: (task: ValidatedTask) => void;
}

const ORACLE = 'oracle';
const IDLE = 'idle';
const COMMAND_SECONDS = 3500;
const WAIT_MS = 5000;
const GRACE_MS = 5000;

/** The engine is one of its own, with a database that is gone afterwards. Throws what `createEngine` throws. */
export async function validateTasks(
  definitions: readonly TaskDefinition[],
  options: ValidateOptions,
): Promise<readonly ValidatedTask[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'holdfast-validate-'));
  const tasks = definitions.map(tried);
  try {
    const engine = await createEngine({
      ...{ dataDir, databaseUrl: null, workerId: 'validate', concurrency: options.atOnce },
      ...{
        dockerHost: options.dockerHost,
        dockerCertPath: options.dockerCertPath,
        agents: agentsFor(tasks, options.seed),
        retries: { most: 1, firstMs: 1000 },
      },
    });
    try {
      return await attemptAll(engine, tasks, options);
    } finally {
      await engine.stop({ graceMs: GRACE_MS });
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** The agents have no scaffold and take as many turns as the solution has commands. */
const tried = (task: TaskDefinition): TaskDefinition =>
  parseTask({ ...task, scaffold: null, maxTurns: Math.max(task.maxTurns, 1000), createdAt: null });

const oracleOf = (index: number): string => `${ORACLE}-${index}`;

function agentsFor(tasks: readonly TaskDefinition[], seed: number) {
  const agentOf = (name: string, commands: () => readonly string[]) =>
    defineAgent({
      agent: new Agent({
        name,
        tools: [bashTool({ timeoutSeconds: COMMAND_SECONDS })],
        model: followed(name, commands),
      }),
      grants: ['container:exec:shell'],
    });
  const solutions = tasks.map((task, index) =>
    agentOf(oracleOf(index), () => solutionCommands(resolveTask(task, { parameters: {}, seed }, new Allowance()))),
  );
  return [agentOf(IDLE, () => []), ...solutions];
}

/** A model that asks for one command after the other. A run that goes on elsewhere continues with the next one. */
const followed = (name: string, commands: () => readonly string[]) =>
  functionModel(name, ({ input }) => {
    const items = typeof input === 'string' ? [] : (input as readonly { readonly type?: string }[]);
    const done = items.filter(({ type }) => type === 'function_call_result').length;
    const command = commands()[done];
    if (command === undefined)
      return [
        { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'done' }] },
      ];
    const asked = JSON.stringify({ command });
    return [{ type: 'function_call', callId: `c${done}`, name: 'bash', arguments: asked, status: 'completed' }];
  });

interface Work {
  readonly index: number;
  readonly solved: boolean;
}

async function attemptAll(
  engine: Engine,
  tasks: readonly TaskDefinition[],
  options: ValidateOptions,
): Promise<readonly ValidatedTask[]> {
  const { repeat, atOnce, signal, onTask } = options;
  const found = tasks.map((): ValidationAttempt[] => []);
  const left = tasks.map(({ solution }) => (solution === null ? 1 : 2) * repeat);
  const validated: ValidatedTask[] = [];
  const work = tasks.flatMap((task, index): Work[] =>
    Array.from({ length: repeat }, (): Work[] => [
      ...(task.solution === null ? [] : [{ index, solved: true }]),
      { index, solved: false },
    ]).flat(),
  );
  const next = async (): Promise<void> => {
    for (let one = work.shift(); one !== undefined && !signal.aborted; one = work.shift()) {
      const { index } = one;
      const [task, attempts] = [tasks[index], found[index]];
      if (task === undefined || attempts === undefined) return;
      attempts.push(await attempt(engine, task, one, options));
      left[index] = (left[index] ?? 0) - 1;
      if (left[index] !== 0 || signal.aborted) continue;
      const judged = validatedTask(task, attempts);
      validated.push(judged);
      onTask(judged);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, next));
  signal.throwIfAborted();
  return validated.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

async function attempt(
  engine: Engine,
  task: TaskDefinition,
  { index, solved }: Work,
  { image, seed, signal }: ValidateOptions,
): Promise<ValidationAttempt> {
  const broken = (why: string): ValidationAttempt => ({ solved, reward: null, passed: false, tests: [], error: why });
  try {
    const agent = solved ? oracleOf(index) : IDLE;
    const asked = { task, agent, seed, ...(image === null ? {} : { image }) };
    let now = await engine.submitTask(asked, LOCAL_CALLER);
    while (now.result === null && now.status !== 'paused') {
      if (signal.aborted) await engine.cancelTask(now.id, 'The validation was ended.', LOCAL_CALLER);
      await engine.getRun(now.runId, LOCAL_CALLER, { waitMs: WAIT_MS });
      now = await engine.getTask(now.id, LOCAL_CALLER);
    }
    const { items } = await engine.listEvents(now.runId, { after: 0, limit: 1, kind: 'task.verified' }, LOCAL_CALLER);
    const [verified] = items;
    if (verified === undefined) return broken(whyOf(now.result));
    const { evidence } = taskVerified.parse(verified.data);
    return {
      ...{ solved, reward: now.reward, passed: now.verificationPassed === true, error: null },
      tests: evidence.tests.map(({ name, share }) => ({ name, share })),
    };
  } catch (error) {
    if (error instanceof HoldfastError) return broken(`${error.code}: ${error.message}`);
    throw error;
  }
}

const whyOf = (result: unknown): string => {
  const { type, code, reason, message } = Object(result) as Readonly<Record<string, unknown>>;
  return [type, code, reason, message].filter((one) => typeof one === 'string').join(': ') || 'it has no result';
};
