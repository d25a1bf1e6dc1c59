import { Agent } from '@openai/agents';
import { z } from 'zod';
import { defineAgent, defineTool, memorySpace } from '../../src/index.js';
import { call } from '../harness/script.js';
import { placedModel } from './placed-model.js';
import type { Scenario } from './scenario.js';
import { leave } from './world.js';

/** Calls that write memory twice each: each write counts once, whatever of the call was kept when the process died. */
const space = memorySpace({ name: 'tally', scope: 'tenant' });

const writing = (name: string, effect: 'idempotent' | 'unsafe', approval = false) =>
  defineTool({
    ...{ name, description: `Does ${name}.`, input: z.object({ n: z.int() }), output: z.object({ version: z.int() }) },
    ...{ effect, approval },
    execute: async ({ n }, { callId, memory }) => {
      const { version } = await memory.remember('tally', { made: true }, { key: 'sum' });
      await memory.revise('tally', 'sum', {
        changes: [
          { op: 'add', path: '/sum', by: n },
          { op: 'append', path: '/names', values: [callId] },
        ],
        version,
      });
      // Who finds a call in the world finds all of its writes.
      leave(name, callId);
      return { version };
    },
  });

/** Forgets what it has just written: the log over all runs has one entry of it, whatever of the call was kept. */
const drop = defineTool({
  ...{
    name: 'drop',
    description: 'Writes and forgets.',
    input: z.object({}),
    output: z.boolean(),
    effect: 'idempotent',
  },
  execute: async (_, { memory }) => {
    await memory.remember('tally', { made: true }, { key: 'gone' });
    return memory.forget('tally', 'gone');
  },
});

const tools = [drop, writing('put', 'idempotent'), writing('pay', 'unsafe'), writing('wire', 'unsafe', true)];

export const memory: Scenario = {
  agent: 'tally',
  config: {
    agents: [
      defineAgent({
        agent: new Agent({
          ...{ name: 'tally', tools },
          model: placedModel('tally', [
            [call('put', { n: 1 }, 'c1')],
            [call('pay', { n: 2 }, 'c2')],
            [call('wire', { n: 4 }, 'c3')],
            [call('put', { n: 8 }, 'c4')],
            [call('drop', {}, 'c5')],
          ]),
        }),
        grants: ['tool:call:*', 'memory:write:tally'],
        memory: [space],
      }),
    ],
  },
  places: ['tally:0', 'put:before', 'put:after', 'tally:1', 'pay:before', 'wire:before', 'wire:after', 'tally:4'],
  exactly: { pay: 1, wire: 1 },
  repeated: ['put'],
  writesMemory: true,
  statements: 170,
  resultOf: ({ tool }) => ({ version: tool === 'pay' ? 2 : 3 }),
  check: async (knex) => {
    const rows: { value: string }[] = await knex('holdfast.memory_documents').select('value');
    const found = rows.map(({ value }) => JSON.parse(value));
    const [only] = found;
    if (found.length !== 1 || only.sum !== 15 || [...only.names].sort().join() !== 'c1,c2,c3,c4')
      throw new Error(`the memory is ${JSON.stringify(found)}`);
    const gone: { seq: number }[] = await knex('holdfast.log_entries').where({ loss: 'forgotten' }).select('seq');
    if (gone.length !== 1) throw new Error(`the log says ${JSON.stringify(gone)} of what was forgotten`);
  },
};
