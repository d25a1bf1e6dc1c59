import { existsSync } from 'node:fs';
import { Agent } from '@openai/agents';
import { askHumanTool, bashTool, defineAgent, functionModel } from '../../src/index.js';
import { call, resultsIn, say, textOf } from '../harness/script.js';

/** An agent that does what the lines of its instruction say: "$ " runs a command, "? " asks a person, "! " fails while a file is there. */

const model = functionModel('asking', ({ input }) => {
  const items = typeof input === 'string' ? [] : (input as readonly { content?: unknown }[]);
  const lines = (typeof input === 'string' ? input : textOf(items[0]?.content)).split('\n');
  const done = resultsIn(input).length;
  const next = lines.filter((line) => !line.startsWith('! '))[done] ?? '';
  const before = lines[lines.indexOf(next) - 1] ?? '';
  if (before.startsWith('! ') && existsSync(before.slice(2))) throw new Error('no words');
  const rest = next.slice(2);
  if (next === '') return [say('done')];
  return [next.startsWith('? ') ? call('ask_human', { question: rest }, `ask-${done}`) : bash(rest, done)];
});

const bash = (command: string, n: number) => call('bash', { command }, `command-${n}`);

export const asking = defineAgent({
  agent: new Agent({ name: 'asking', model, tools: [bashTool(), askHumanTool()] }),
  grants: ['container:exec:shell', 'human:ask:question'],
});
