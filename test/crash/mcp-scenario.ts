import { join } from 'node:path';
import { Agent, MCPServerStdio } from '@openai/agents';
import { defineAgent } from '../../src/index.js';
import { call } from '../harness/script.js';
import { placedModel } from './placed-model.js';
import type { Scenario } from './scenario.js';

/** An agent of which every tool is in an MCP server, which is a process of its own and may kill the one that calls it. */
const passed = ['EFFECTS_FILE', 'KILL_AT'].flatMap((name) => {
  const value = process.env[name];
  return value === undefined ? [] : [[name, value] as const];
});

const office = new MCPServerStdio({
  ...{ name: 'office', command: process.execPath, args: [join(import.meta.dirname, 'mcp-server.js')] },
  env: { ...Object.fromEntries(passed), KILL_PARENT: '1' },
});

const model = placedModel('model', [[call('look', { n: 1 }), call('pay', { n: 3 })], [call('transfer', { n: 4 })]]);

export const mcp: Scenario = {
  agent: 'office',
  config: {
    agents: [
      defineAgent({
        agent: new Agent({ name: 'office', model, mcpServers: [office] }),
        grants: ['mcp:call:office/*', { capability: 'mcp:call:office/transfer', effect: 'ask' }],
        mcp: { office: { effects: { look: 'pure' } } },
      }),
    ],
  },
  places: [
    ...['model:0', 'look:before', 'look:after', 'pay:before', 'pay:after', 'model:1'],
    ...['transfer:before', 'transfer:after', 'model:2'],
  ],
  around: [
    { when: 'sent', text: 'insert into "holdfast"."mcp_pins"' },
    { when: 'after', text: 'insert into "holdfast"."mcp_pins"', commit: true },
  ],
  resultOf: ({ tool }) => `${tool} done`,
  exactly: { pay: 1, transfer: 1 },
  repeated: ['look'],
  statements: 160,
};
