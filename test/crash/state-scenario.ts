import { Agent } from '@openai/agents';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../src/index.js';
import { call } from '../harness/script.js';
import { placedModel } from './placed-model.js';
import type { Scenario } from './scenario.js';
import { leave } from './world.js';

/** Calls that change the state of a run beside each other, one after the other, and after an approval: each change counts once. */
const tally = z.object({ sum: z.int().default(0), names: z.array(z.string()).default([]) });

const counting = (name: string, effect: 'idempotent' | 'unsafe', approval = false) =>
  defineTool({
    ...{ name, description: `Does ${name}.`, input: z.object({ n: z.int() }), output: z.object({ sum: z.int() }) },
    ...{ effect, approval, state: tally },
    execute: ({ n }, { callId, state }) => {
      leave(name, callId);
      state.add('/sum', n);
      state.append('/names', callId);
      return { sum: state.get().sum };
    },
  });

const tools = [counting('put', 'idempotent'), counting('pay', 'unsafe'), counting('wire', 'unsafe', true)];

export const state: Scenario = {
  agent: 'tally',
  config: {
    agents: [
      defineAgent({
        agent: new Agent({
          ...{ name: 'tally', tools },
          model: placedModel('tally', [
            [call('put', { n: 1 }, 'c1'), call('pay', { n: 2 }, 'c2')],
            [call('wire', { n: 4 }, 'c3')],
            [call('put', { n: 8 }, 'c4')],
          ]),
        }),
        grants: ['tool:call:*'],
        state: tally,
      }),
    ],
  },
  places: [
    'tally:0',
    'put:before',
    'put:after',
    'pay:before',
    'pay:after',
    'tally:1',
    'wire:before',
    'wire:after',
    'tally:3',
  ],
  exactly: { pay: 1, wire: 1 },
  repeated: ['put'],
  statements: 90,
  check: async (knex) => {
    const { rows } = await knex.raw(`select state from holdfast.run_heads`);
    const found = rows.map(({ state }: { state: string }) => JSON.parse(state).agentState);
    const value = { sum: 15, names: ['c1', 'c2', 'c3', 'c4'] };
    if (JSON.stringify(found) !== JSON.stringify([{ value: { names: value.names, sum: value.sum }, version: 4 }]))
      throw new Error(`the state is ${JSON.stringify(found)}`);
  },
};
