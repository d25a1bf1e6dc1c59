import { Agent } from '@openai/agents';
import { bashTool, defineAgent, functionModel } from '../../src/index.js';
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
