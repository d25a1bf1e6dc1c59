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
    ...{ name, description: `Does ${name}.`, input: z.object({ n: z.int() }), output: z.object({ done: z.string() }) },
    ...{ effect, approval, state: tally },
    execute: ({ n }, { callId, state }) => {
      leave(name, callId);
      state.add('/sum', n);
      state.append('/names', callId);
      return { done: `${name} ${n}` };
    },
  });

const tools = [counting('put', 'idempotent'), counting('pay', 'unsafe'), counting('wire', 'unsafe', true)];

const CALLS = [
  { id: 'c1', tool: 'put', n: 1 },
  { id: 'c2', tool: 'pay', n: 2 },
  { id: 'c3', tool: 'wire', n: 4 },
  { id: 'c4', tool: 'put', n: 8 },
];

function asked(wanted: string) {
  const one = CALLS.find(({ id }) => id === wanted);
  if (one === undefined) throw new Error(`there is no call ${wanted}`);
  return call(one.tool, { n: one.n }, one.id);
}

export const state: Scenario = {
  agent: 'tally',
  config: {
    agents: [
      defineAgent({
        agent: new Agent({
          ...{ name: 'tally', tools },
          model: placedModel('tally', [[asked('c1'), asked('c2')], [asked('c3')], [asked('c4')]]),
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
    const { rows: heads } = await knex.raw(`select state from holdfast.run_heads`);
    const found = heads.map(({ state }: { state: string }) => JSON.parse(state).agentState);
    // What a person says that a call returned changes no state.
    const { rows: answered }: { rows: { call_id: string }[] } = await knex.raw(
      `select i.call_id from holdfast.interruptions i join holdfast.decisions d on d.interruption_id = i.id where d.verdict = 'answer'`,
    );
    const made = CALLS.filter(({ id }) => !answered.some(({ call_id }) => call_id === id));
    const value = { names: made.map(({ id }) => id), sum: made.reduce((sum, { n }) => sum + n, 0) };
    if (JSON.stringify(found) !== JSON.stringify([{ value, version: made.length }]))
      throw new Error(`the state is ${JSON.stringify(found)}, and not ${JSON.stringify(value)}`);
  },
};
