import { Agent } from '@openai/agents';
import { z } from 'zod';
import { createEngine, defineAgent, defineTool, nativeApi } from '../../src/index.js';
import { drive, REVIEWER } from './careful-person.js';
import { place } from './place.js';
import { print, reportOf } from './report.js';

/** One process that runs an agent of a native API, whose server is the test's, and may die before a call of a tool begins. */
const [like, baseURL, stream] = ['NATIVE_LIKE', 'NATIVE_URL', 'NATIVE_STREAM'].map((name) => process.env[name] ?? '');

const weather = defineTool({
  name: 'weather',
  description: 'The weather of a city.',
  input: z.object({ city: z.string() }),
  output: z.string(),
  effect: 'pure',
  execute: ({ city }) => {
    place(`weather in ${city}`);
    return `12 degrees in ${city}`;
  },
});

const model = like === 'anthropic-native' ? 'claude-sonnet-4-6' : 'gemini-3-pro-preview';
const thinker = new Agent({
  ...{ name: 'thinker', model: `own/${model}`, instructions: 'Be short.', tools: [weather] },
  modelSettings: { maxTokens: 4_000, reasoning: { effort: 'low' } },
});

const engine = await createEngine({
  agents: [defineAgent({ agent: thinker, grants: ['tool:call:weather'], stream: stream === '1' })],
  providers: {
    own: nativeApi({
      like: like === 'anthropic-native' ? 'anthropic-native' : 'google-native',
      ...{ baseURL: baseURL ?? '', key: null },
    }),
  },
  databaseUrl: process.env['DATABASE_URL'] ?? null,
  dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '',
  ...{ workerId: 'crash', crashLimit: 1000 },
});
const { id } = await engine.startRun({ agent: 'thinker', input: 'Where is it warmest?' }, REVIEWER, 'the-run');
print([await reportOf(engine, await drive(engine, id, {}))]);
await engine.stop();
process.exit(0);
