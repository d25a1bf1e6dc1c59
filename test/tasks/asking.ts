import { Agent } from '@openai/agents';
import { askHumanTool, bashTool, defineAgent, functionModel } from '../../src/index.js';
import { call, resultsIn, say, textOf } from '../harness/script.js';

/** An agent that does what the lines of its instruction say: "$ " runs a command, "? " asks a person, "! " fails while it is told to. */

const model = (fails: (word: string) => boolean) =>
  functionModel('asking', ({ input }) => {
    const items = typeof input === 'string' ? [] : (input as readonly { content?: unknown }[]);
    const text = typeof input === 'string' ? input : textOf(items[0]?.content);
    const lines = text.split('\n');
    const done = resultsIn(input).length;
    const steps = lines.filter((line) => !line.startsWith('! '));
    const next = steps[done];
    const before = next === undefined ? undefined : lines[lines.indexOf(next) - 1];
    if (before?.startsWith('! ') && fails(before.slice(2))) throw new Error('no words');
    if (next === undefined) return [say('done')];
    const rest = next.slice(2);
    return [next.startsWith('? ') ? call('ask_human', { question: rest }, `ask-${done}`) : bash(rest, done)];
  });

const bash = (command: string, n: number) => call('bash', { command }, `command-${n}`);

export const asking = (fails: (word: string) => boolean = () => false) =>
  defineAgent({
    agent: new Agent({ name: 'asking', model: model(fails), tools: [bashTool(), askHumanTool()] }),
    grants: ['container:exec:shell', 'human:ask:question'],
  });
