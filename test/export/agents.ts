import { Agent } from '@openai/agents';
import { z } from 'zod';
import { defineAgent, defineTool, functionModel, type HoldfastConfig, subAgent } from '../../src/index.js';
import { call, resultsIn, say, scripted } from '../harness/script.js';

/** Agents whose runs have everything in them that an export must say. */

const look = defineTool({
  ...{ name: 'look', description: 'Looks something up.', effect: 'pure' },
  input: z.object({ what: z.string() }),
  output: z.object({ found: z.string(), email: z.string() }),
  execute: ({ what }) => ({ found: `all about ${what}`, email: 'ann@example.com' }),
});
const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', effect: 'unsafe', approval: true },
  input: z.object({ cents: z.int() }),
  output: z.string(),
  execute: ({ cents }) => `paid ${cents}`,
});
const breaks = defineTool({
  ...{ name: 'breaks', description: 'Never works.', effect: 'pure', input: z.object({}), output: z.string() },
  execute: () => {
    throw new Error('out of order');
  },
});

const desk = new Agent({
  name: 'desk',
  instructions: 'You are the desk.',
  model: functionModel('desk-model', (request) => [say(`the desk read ${resultsIn(request.input).length} results`)]),
});
const helper = new Agent({ name: 'helper', tools: [look], model: scripted([[call('look', { what: 'inside' }, 'i')]]) });

const agent = (name: string, tools: Agent['tools'], outputs: Parameters<typeof scripted>[0]) =>
  defineAgent({
    agent: new Agent({ name, instructions: `You are ${name}.`, tools, model: scripted(outputs) }),
    grants: [{ capability: 'tool:call:*', effect: 'allow', delegate: true }],
  });

export const config: HoldfastConfig = {
  agents: [
    agent(
      'worker',
      [look, pay, breaks],
      [[call('look', { what: 'bills' }, 'c1'), call('breaks', {}, 'c2')], [call('pay', { cents: 5 }, 'c3')]],
    ),
    agent('looker', [look], [[call('look', { what: 'ann@example.com' }, 'l1')]]),
    defineAgent({
      agent: Agent.create({
        ...{ name: 'front', instructions: 'You are the front.', handoffs: [desk] },
        model: scripted([[call('transfer_to_desk', {}, 'h1')]]),
      }),
    }),
    agent(
      'chief',
      [helper.asTool({ toolName: 'ask_helper', toolDescription: 'Asks the helper.' }), subAgent({ agent: 'looker' })],
      [[call('ask_helper', { input: 'help me' }, 'a1')], [call('looker', { input: 'look for me' }, 's1')]],
    ),
  ],
};
