import { z } from 'zod';
import { defineStateMachine } from '../../src/index.js';
import { effectTool } from './effect-tool.js';
import type { Scenario } from './scenario.js';

/** A state machine whose calls are made at once and after an approval: its state and its calls are those of the log after each crash. */
const tools = [
  effectTool('put', 'idempotent'),
  effectTool('pay', 'unsafe'),
  effectTool('transfer', 'unsafe', { approval: true }),
];

export const machine: Scenario = {
  agent: 'machine',
  config: {
    agents: [
      defineStateMachine({
        ...{ name: 'machine', tools, grants: ['tool:call:*'] },
        states: {
          open: { data: z.object({}), to: ['paying'] },
          paying: { data: z.object({ done: z.int(), place: z.int() }), to: ['sure'] },
          sure: { data: z.object({ place: z.int(), isLater: z.boolean() }), to: [] },
        },
        initial: { name: 'open', data: {} },
        transition: (state, event, { logicalTime }) => {
          if (state.name === 'open') {
            const calls = ['put', 'pay'].map((tool, n) => ({ tool, arguments: { n } }));
            return { state: { name: 'paying', data: { done: 0, place: logicalTime } }, calls };
          }
          if (state.name === 'sure') return { state, output: { ...state.data, last: event.type } };
          const { done, place } = state.data;
          if (done === 0) return { state: { name: 'paying', data: { done: 1, place } } };
          const calls = [{ tool: 'transfer', arguments: { n: 3 } }];
          return { state: { name: 'sure', data: { place, isLater: logicalTime > place } }, calls };
        },
      }),
    ],
  },
  places: ['put:before', 'put:after', 'pay:before', 'pay:after', 'transfer:before', 'transfer:after'],
  exactly: { pay: 1, transfer: 1 },
  repeated: ['put'],
  statements: 90,
};
