import { Agent } from '@openai/agents';
import { z } from 'zod';
import { SILENT } from '../../src/engine/engine-config.js';
import { createHttpServer } from '../../src/http/server.js';
import { createEngine, defineAgent, defineTool } from '../../src/index.js';
import { add, addInput, INSTRUCTIONS, scriptedModel } from './agent.js';
import type { Place } from './place.js';
import { STREAM_TOKEN } from './stream-client.js';

/** The API of a measurement, which executes nothing itself: a worker has the same agent. */

const place: Place = JSON.parse(process.argv[2] ?? '{}');
const adds = defineTool({
  name: 'add',
  description: 'Adds.',
  input: addInput,
  output: z.string(),
  effect: 'pure',
  capabilities: ['bench:add:numbers'],
  execute: async (input) => add(input),
});
const engine = await createEngine({
  agents: [
    defineAgent({
      agent: new Agent({ name: 'adder', model: scriptedModel(0), instructions: INSTRUCTIONS, tools: [adds] }),
      grants: ['bench:add:*'],
      maxTurns: 10_000,
    }),
  ],
  ...place,
  role: 'api',
});
const http = await createHttpServer(engine, {
  ...{ host: '127.0.0.1', port: 0, maxBodyBytes: 1024 * 1024, log: SILENT },
  tokens: [{ token: STREAM_TOKEN, actor: 'bench', role: 'admin', tenant: 'default' }],
  tokensConfigured: true,
});
process.stdout.write(`${JSON.stringify(http.url)}\n`);
setInterval(() => {}, 60_000);
