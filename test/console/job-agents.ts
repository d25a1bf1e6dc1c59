import { Agent } from '@openai/agents';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../src/index.js';
import { call, say, scripted } from '../harness/script.js';

const pay = defineTool({
  name: 'pay',
  description: 'Pays someone.',
  input: z.object({ to: z.string(), cents: z.int() }),
  output: z.object({ paid: z.int() }),
  capabilities: ['bank:pay:alice'],
  approval: 'It costs money.',
  approvals: 2,
  execute: ({ cents }) => ({ paid: cents }),
});
/** No one knows whether it has happened. */
const post = defineTool({
  name: 'post',
  description: 'Posts a letter, and never says so.',
  input: z.object({ to: z.string() }),
  output: z.object({ number: z.int() }),
  timeoutMs: 20,
  execute: () => new Promise<never>(() => {}),
});

const tools = [pay, post];
const grants = ['bank:pay:alice', 'tool:call:post'];

/** `double` waits for two approvals, `poster` for someone who knows, `rare` begins once an hour. */
export const JOB_AGENTS = [
  defineAgent({
    agent: new Agent({
      name: 'double',
      model: scripted([[say('I pay her.'), call('pay', { to: 'alice', cents: 50 }, 'p1')], [say('It is paid.')]]),
      tools,
    }),
    grants,
    onDenied: 'tell',
  }),
  defineAgent({
    agent: new Agent({
      name: 'poster',
      model: scripted([[call('post', { to: 'alice' }, 'w1')], [say('Someone looks after it.')]]),
      tools,
    }),
    grants,
    onDenied: 'tell',
  }),
  defineAgent({
    agent: new Agent({ name: 'rare', model: scripted([[say('hello')]]) }),
    rate: { runs: 1, perMs: 3_600_000 },
  }),
];
