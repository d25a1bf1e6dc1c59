import { Agent } from '@openai/agents';
import { bashTool, defineAgent, type Engine, functionModel, type SubmitTask } from '../../src/index.js';
import { ADMIN, dataOf } from '../harness/engine.js';
import { call, say, textOf } from '../harness/script.js';

/** An agent that runs what it is told: each line of the instruction that begins with "$ " is a command. */

const PROMPT = '$ ';

export const told = (...commands: readonly string[]): string =>
  commands.map((command) => `${PROMPT}${command}`).join('\n') || 'Do nothing.';

const model = functionModel('obedient', ({ input }) => {
  const items = typeof input === 'string' ? [] : (input as readonly { type?: string; content?: unknown }[]);
  const text = typeof input === 'string' ? input : textOf(items[0]?.content);
  const commands = text
    .split('\n')
    .filter((line) => line.startsWith(PROMPT))
    .map((line) => line.slice(PROMPT.length));
  const done = items.filter(({ type }) => type === 'function_call_result').length;
  const next = commands[done];
  return next === undefined ? [say('done')] : [call('bash', { command: next }, `command-${done}`)];
});

export const obedient = defineAgent({
  agent: new Agent({ name: 'obedient', model, tools: [bashTool()] }),
  grants: ['container:exec:shell'],
});

/** Has the agent execute a task, and gives what became of its tests. */
export async function testsOf(
  engine: Engine,
  task: unknown,
): Promise<readonly { readonly name: string; readonly share: number; readonly stderr: string }[]> {
  const { runId } = await engine.submitTask({ task, agent: 'obedient' } as unknown as SubmitTask, ADMIN);
  while (!['completed', 'failed'].includes((await engine.getRun(runId, ADMIN, { waitMs: 60_000 })).status));
  const [found] = await dataOf(engine, runId, 'task.verified');
  const { tests } = (found as never as { evidence: { tests: Awaited<ReturnType<typeof testsOf>> } }).evidence;
  return tests;
}
