import { Agent, type AgentInputItem, Runner, webSearchTool } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { usagePartsOf } from '../../src/models/budgets/usage-tokens.js';
import { MultiModelProvider } from '../../src/models/providers/multi-model-provider.js';
import { call, MODES } from './model.contract.js';
import { requestOf } from './requests.js';
import { strictResponses } from './servers/strict-responses.js';
import type { StrictTurn } from './servers/strict-server.js';
import { type WireServer, wireServer } from './servers/wire-server.js';
import { weather } from './weather.js';

const calls = (...cities: readonly string[]) => ({
  calls: cities.map((city) => ({ id: `call_${city}`, name: 'weather', args: { city } })),
});
const TURNS: readonly StrictTurn[] = [
  { said: { text: 'I look.', ...calls('Oslo', 'Rome') } },
  { said: calls('Bern') },
  { said: { text: 'It is 12 degrees.' } },
  { said: { text: 'Yes.' } },
];
/** The settings for an account of OpenAI that stores nothing. */
const modelSettings = { store: false, providerData: { include: ['reasoning.encrypted_content'] } };

const open = ({ url }: WireServer) =>
  new MultiModelProvider({ openaiApiKey: 'sk-test', openaiBaseUrl: `${url}/v1` }).getModel('test');

describe.each(MODES)("OpenAI's Responses API, which stores nothing, %s", (mode) => {
  it('takes thoughts, searches of the server and parallel calls back over three turns and a second question', async () => {
    await using server = await wireServer(strictResponses(TURNS));
    const model = await open(server);
    const runner = new Runner({ tracingDisabled: true });
    const agent = new Agent({ name: 'A', model, tools: [weather, webSearchTool()], modelSettings });
    let history: AgentInputItem[] = [];
    const outputs: unknown[] = [];
    for (const content of ['Where is it warm?', 'Sure?']) {
      const asked: AgentInputItem[] = [...history, { role: 'user', content }];
      const result =
        mode === 'whole' ? await runner.run(agent, asked) : await runner.run(agent, asked, { stream: true });
      if ('completed' in result) await result.completed;
      // As a checkpoint keeps it.
      history = JSON.parse(JSON.stringify(result.history));
      outputs.push(result.finalOutput);
    }
    expect(outputs).toEqual(['It is 12 degrees.', 'Yes.']);
    expect(server.received).toHaveLength(4);
  });

  it('counts what was cached and what was thought', async () => {
    await using server = await wireServer(strictResponses(TURNS));
    const { usage } = await call(await open(server), requestOf({ modelSettings }), mode);
    expect(usagePartsOf(usage)).toEqual({
      ...{ inputTokens: 100, cachedInputTokens: 40, cacheWriteTokens: 0, outputTokens: 50, reasoningTokens: 20 },
    });
  });
});
