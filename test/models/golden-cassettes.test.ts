import { existsSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, type Model, Runner, tool } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { nativeApi, openaiCompatible } from '../../src/engine/agents/model-providers.js';
import { createEngine, defineAgent, LOCAL_CALLER } from '../../src/index.js';
import { ReplayModelProvider } from '../../src/models/cassettes/replay-model-provider.js';
import { OllamaModel } from '../../src/models/ollama/ollama-model.js';
import { SLOW } from '../harness/slow.js';
import { FINAL } from './model.contract.js';
import { ANTHROPIC } from './servers/anthropic-wire.js';
import { CHAT } from './servers/chat-wire.js';
import { GOOGLE } from './servers/google-wire.js';
import { OLLAMA } from './servers/ollama-wire.js';
import { RESPONSES } from './servers/responses-wire.js';
import { answers, type Wire } from './servers/wire.js';
import { wireServer } from './servers/wire-server.js';

/** Cassettes of every version that was ever written: they are only added to, by HOLDFAST_WRITE_GOLDEN, and must be played forever. */

const DIRECTORY = join(import.meta.dirname, '../golden/cassettes');

const weather = tool({
  name: 'weather',
  description: 'The weather of a city.',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => `12 degrees in ${city}`,
});

const agentOf = (model: Model | string) => new Agent({ name: 'Weather', model, tools: [weather] });

async function run(model: Model): Promise<unknown> {
  return (await new Runner({ tracingDisabled: true }).run(agentOf(model), 'Oslo?')).finalOutput;
}

const KINDS: readonly (readonly [string, Wire, (url: string) => Promise<Model> | Model])[] = [
  ['ollama', OLLAMA, (baseURL) => new OllamaModel('weather', { baseURL, recordTo: DIRECTORY, numCtx: 8_192 })],
  [
    'chat',
    CHAT,
    (url) => openaiCompatible({ baseURL: `${url}/v1`, key: null, recordTo: DIRECTORY }).getModel('weather'),
  ],
  [
    'responses',
    RESPONSES,
    (url) =>
      openaiCompatible({ baseURL: `${url}/v1`, key: null, api: 'responses', recordTo: DIRECTORY }).getModel('weather'),
  ],
  [
    'anthropic',
    ANTHROPIC,
    (url) =>
      nativeApi({ like: 'anthropic-native', baseURL: `${url}/v1`, key: null, recordTo: DIRECTORY }).getModel('weather'),
  ],
  [
    'google',
    GOOGLE,
    (url) =>
      nativeApi({ like: 'google-native', baseURL: `${url}/v1beta`, key: null, recordTo: DIRECTORY }).getModel(
        'weather',
      ),
  ],
];

/** Makes one that is missing. */
async function write(name: string, wire: Wire, open: (typeof KINDS)[number][2]): Promise<void> {
  const call = { id: 'call_1', name: 'weather', args: { city: 'Oslo' } };
  await using server = await wireServer(answers(wire, { calls: [call] }, 64), answers(wire, { text: FINAL }, 64));
  await run(await open(server.url));
  await rename(join(DIRECTORY, 'weather.jsonl'), join(DIRECTORY, `${name}.jsonl`));
}

describe.each(KINDS)('the golden cassette %s', (api, wire, open) => {
  it('of version 1 is played', async () => {
    const name = `${api}-v1`;
    const isWriting = process.env['HOLDFAST_WRITE_GOLDEN'] !== undefined;
    if (isWriting && !existsSync(join(DIRECTORY, `${name}.jsonl`))) await write(name, wire, open);
    expect(await run(await new ReplayModelProvider(DIRECTORY).getModel(name))).toBe(FINAL);
  });
});

it.runIf(SLOW)('a run of an engine is played by the name of its model', async () => {
  const agent = defineAgent({ agent: agentOf('replay/ollama-v1'), grants: ['tool:call:weather'] });
  const dataDir = await mkdtemp(join(tmpdir(), 'golden-'));
  const engine = await createEngine({ agents: [agent], databaseUrl: null, dataDir, cassettesDir: DIRECTORY });
  try {
    const { id } = await engine.startRun({ agent: 'Weather', input: 'Oslo?' }, LOCAL_CALLER);
    expect(await engine.getRun(id, LOCAL_CALLER, { waitMs: 30_000 })).toMatchObject({
      status: 'completed',
      output: FINAL,
    });
    const other = await engine.startRun({ agent: 'Weather', input: 'Rome?' }, LOCAL_CALLER);
    expect(await engine.getRun(other.id, LOCAL_CALLER, { waitMs: 30_000 })).toMatchObject({
      status: 'failed',
      error: { code: 'cassette_unmatched', message: expect.stringContaining('"Rome?"') },
    });
  } finally {
    await engine.stop();
    await rm(dataDir, { recursive: true });
  }
});
