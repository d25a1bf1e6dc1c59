import { Agent, type AgentInputItem, type Model, Runner, UserError } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { nativeApi } from '../../src/engine/agents/model-providers.js';
import { usagePartsOf } from '../../src/models/budgets/usage-tokens.js';
import { classifyModelFailure } from '../../src/models/failures/model-failure.js';
import type { NativeApiOptions } from '../../src/models/native/native-options.js';
import { call, MODES, type Mode, textIn } from './model.contract.js';
import { callItem, requestOf, resultItem, textItem, weatherTool } from './requests.js';
import { ANTHROPIC, anthropicAnswer } from './servers/anthropic-wire.js';
import { GOOGLE } from './servers/google-wire.js';
import { strictAnthropic } from './servers/strict-anthropic.js';
import { strictGoogle } from './servers/strict-google.js';
import type { StrictTurn } from './servers/strict-server.js';
import { answers, type Wire } from './servers/wire.js';
import { type Answerer, status, type WireServer, wireServer } from './servers/wire-server.js';
import { weather } from './weather.js';

interface Api {
  readonly name: string;
  readonly like: NativeApiOptions['like'];
  readonly wire: Wire;
  readonly strict: (turns: readonly StrictTurn[]) => Answerer;
  readonly model: string;
  /** What the strict server says that a turn takes. */
  readonly counted: object;
}

const APIS: readonly Api[] = [
  {
    name: 'Anthropic',
    like: 'anthropic-native',
    wire: ANTHROPIC,
    strict: strictAnthropic,
    model: 'claude-sonnet-4-6',
    counted: { inputTokens: 90, cachedInputTokens: 40, cacheWriteTokens: 30, outputTokens: 50, reasoningTokens: 0 },
  },
  {
    name: 'Gemini',
    like: 'google-native',
    wire: GOOGLE,
    strict: strictGoogle,
    model: 'gemini-3-pro-preview',
    counted: { inputTokens: 100, cachedInputTokens: 40, cacheWriteTokens: 0, outputTokens: 50, reasoningTokens: 20 },
  },
];
const CASES = APIS.flatMap((api) => MODES.map((mode) => ({ ...api, mode })));

const open = (
  { url }: WireServer,
  like: NativeApiOptions['like'],
  name = 'test',
  more: object = {},
): Promise<Model> => {
  const baseURL = `${url}${like === 'anthropic-native' ? '/v1' : '/v1beta'}`;
  return Promise.resolve(nativeApi({ like, baseURL, key: null, ...more }).getModel(name));
};

const calls = (...cities: readonly string[]) => ({
  calls: cities.map((city) => ({ id: `toolu_${city}`, name: 'weather', args: { city } })),
});
const TURNS: readonly StrictTurn[] = [
  { said: { text: 'I look.', ...calls('Oslo', 'Rome') } },
  { said: calls('Bern') },
  { said: { text: 'It is 12 degrees.' } },
];

async function conversation(model: Model, mode: Mode, inputs: readonly string[]) {
  const runner = new Runner({ tracingDisabled: true });
  const agent = new Agent({ name: 'A', model, tools: [weather], modelSettings: { reasoning: { effort: 'low' } } });
  let history: AgentInputItem[] = [];
  const outputs: unknown[] = [];
  for (const input of inputs) {
    const asked: AgentInputItem[] = [...history, { role: 'user', content: input }];
    const result = mode === 'whole' ? await runner.run(agent, asked) : await runner.run(agent, asked, { stream: true });
    if ('completed' in result) await result.completed;
    history = result.history;
    outputs.push(result.finalOutput);
  }
  return { history, outputs };
}

describe.each(CASES)('$name, checked as the API checks, $mode', ({ like, strict, model, counted, mode, wire }) => {
  it('takes two turns of tools with parallel calls, and a second question', async () => {
    await using server = await wireServer(strict([...TURNS, { said: { text: 'Yes.' } }]));
    const { outputs } = await conversation(await open(server, like, model), mode, ['Where is it warm?', 'Sure?']);
    expect(outputs).toEqual(['It is 12 degrees.', 'Yes.']);
    expect(server.received).toHaveLength(4);
  });

  it('counts what was cached and what was thought', async () => {
    await using server = await wireServer(strict(TURNS));
    const { usage } = await call(await open(server, like, model), requestOf({}), mode);
    expect(usagePartsOf(usage)).toEqual(counted);
  });

  it('leaves nothing of the adapter in its items', async () => {
    await using server = await wireServer(strict(TURNS));
    const settings = { modelSettings: { reasoning: { effort: 'low' as const } }, tools: [weatherTool] };
    const { output, providerData } = await call(await open(server, like, model), requestOf(settings), mode);
    expect(output.map(({ type }) => type)).toEqual(['reasoning', 'message', 'function_call', 'function_call']);
    expect(output.every((item) => !('id' in item))).toBe(true);
    expect(JSON.stringify(output)).not.toContain(model);
    expect(providerData).toEqual({ finishReason: like === 'google-native' ? 'tool_calls' : 'tool_use' });
  });

  it('gives calls without ids the same ids each time, and others in the next answer', async () => {
    if (like !== 'google-native') return;
    const unnamed = { calls: ['Oslo', 'Rome'].map((city) => ({ id: '', name: 'weather', args: { city } })) };
    const ask = async (answer: Answerer) => {
      await using server = await wireServer(answer);
      const { output } = await call(await open(server, like), requestOf({ tools: [weatherTool] }), mode);
      return output.map((item) => (item.type === 'function_call' ? item.callId : ''));
    };
    const first = await ask(answers(wire, unnamed));
    expect(new Set(first).size).toBe(2);
    expect(await ask(answers(wire, unnamed))).toEqual(first);
    expect(await ask(strictGoogle([{ said: unnamed }]))).not.toEqual(first);
  });

  it.each([
    ['an image', [{ type: 'input_image' as const, image: 'data:image/png;base64,iVBORw0KGgo=' }]],
    [
      'words and an image',
      [
        { type: 'input_text' as const, text: 'The map.' },
        { type: 'input_image' as const, image: 'data:image/png;base64,iVBORw0KGgo=' },
      ],
    ],
  ])('sends the result of a tool with %s', async (_title, output) => {
    await using server = await wireServer(answers(wire, { text: 'Blue.' }));
    const asked = {
      input: [callItem('weather', { city: 'Oslo' }, 'toolu_1'), resultItem('toolu_1', 'weather', output)],
    };
    await call(await open(server, like, model), requestOf(asked), mode);
    const body = JSON.stringify(server.received[0]?.body);
    expect(body).toContain('"iVBORw0KGgo="');
    expect(body).toContain('image/png');
    if (output.length > 1) expect(body).toContain('The map.');
  });

  it('fails for an empty answer, which another attempt may not be', async () => {
    await using server = await wireServer(answers(wire, {}));
    const failed = call(await open(server, like), requestOf({}), mode);
    const failure = classifyModelFailure(
      await failed.then(
        () => 'it answered',
        (error: unknown) => error,
      ),
    );
    expect(failure).toMatchObject({ code: 'model_failed', retryable: true, message: expect.stringContaining('empty') });
  });

  it.each([
    [
      'a hosted tool',
      { tools: [{ type: 'hosted_tool' as const, name: 'web_search', providerData: {} }] },
      'web_search',
    ],
    ['an answer that OpenAI stores', { previousResponseId: 'resp_1' }, 'previousResponseId'],
    ['a conversation that OpenAI stores', { conversationId: 'conv_1' }, 'conversationId'],
  ])('refuses %s before it asks', async (_title, part, named) => {
    await using server = await wireServer(answers(wire, { text: 'no' }));
    const failed = await call(await open(server, like), requestOf(part), mode).then(
      () => null,
      (error: unknown) => error,
    );
    expect(failed).toBeInstanceOf(UserError);
    expect(String(failed)).toContain(named);
    expect(server.received).toEqual([]);
  });
});

describe('Anthropic', () => {
  const asked = async (modelSettings: object, name = 'claude-sonnet-4-6', more: object = {}) => {
    await using server = await wireServer(answers(ANTHROPIC, { text: 'Yes.' }));
    const model = await open(server, 'anthropic-native', name, more);
    await call(model, requestOf({ modelSettings, tools: [weatherTool] }), 'streamed');
    return server.received[0]?.body ?? {};
  };

  it('bounds thoughts and words together by maxTokens', async () => {
    const thinking = { type: 'enabled', budgetTokens: 2_048 };
    const providerData = { providerOptions: { anthropic: { thinking } } };
    expect(await asked({ maxTokens: 3_000, providerData }, 'claude-sonnet-4-5')).toMatchObject({
      ...{ max_tokens: 3_000, thinking: { type: 'enabled', budget_tokens: 2_048 } },
    });
    await expect(asked({ maxTokens: 2_048, providerData }, 'claude-sonnet-4-5')).rejects.toThrow(
      'must be above the budget',
    );
  });

  it('keeps the conversation for five minutes, unless it is told not to', async () => {
    expect((await asked({}))['cache_control']).toEqual({ type: 'ephemeral' });
    expect(await asked({}, 'claude-sonnet-4-6', { cache: false })).not.toHaveProperty('cache_control');
    const hour = { providerOptions: { anthropic: { cacheControl: { type: 'ephemeral', ttl: '1h' } } } };
    await expect(asked({ providerData: hour })).rejects.toThrow('an hour of cache');
  });

  it.each(['cacheControl', 'cache_control'])(
    'sends no item, part or tool that asks for an hour of cache by %s',
    async (name) => {
      const providerData = { anthropic: { [name]: { type: 'ephemeral', ttl: '1h' } } };
      const part = { type: 'input_text', text: 'Hi', providerData };
      for (const request of [
        { input: [{ role: 'user', content: [part] }] },
        { input: [{ role: 'user', content: 'Hi', providerData }] },
        {
          input: [{ type: 'function_call_result', callId: 'c', name: 'weather', status: 'completed', output: [part] }],
        },
        { tools: [{ ...weatherTool, providerData }] },
      ]) {
        await using server = await wireServer(answers(ANTHROPIC, { text: 'Yes.' }));
        const model = await open(server, 'anthropic-native', 'claude-sonnet-4-6');
        await expect(call(model, requestOf(request as object), 'streamed')).rejects.toThrow('an hour of cache');
        expect(server.received).toEqual([]);
      }
    },
  );

  it('says the effort and parallel calls in its own words', async () => {
    expect(await asked({ reasoning: { effort: 'high' }, parallelToolCalls: false })).toMatchObject({
      ...{ thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
      tool_choice: { disable_parallel_tool_use: true },
    });
  });

  it('takes a history with ids that it refuses and with empty texts', async () => {
    await using server = await wireServer(
      strictAnthropic([{ said: { text: '' }, own: false }, { said: { text: 'Yes.' } }]),
    );
    const input = [
      { role: 'user' as const, content: 'Oslo?' },
      textItem(''),
      callItem('weather', { city: 'Oslo' }, 'call/1.a'),
      resultItem('call/1.a', 'weather', 'rain'),
    ];
    const response = await call(await open(server, 'anthropic-native'), requestOf({ input }), 'whole');
    expect(textIn(response.output)).toBe('Yes.');
  });

  it.each(MODES)('fails for a call that the limit cut, %s', async (mode) => {
    const { whole, frames } = anthropicAnswer('msg_1', {
      ...{ input_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 1 },
    });
    const cut = (text: string) => text.replace('"tool_use","stop_sequence"', '"max_tokens","stop_sequence"');
    const half = (text: string) => text.replace('y\\":\\"Oslo\\"}', '');
    const answer: Answerer = (response, { body }) => {
      response.writeHead(200, { 'content-type': body['stream'] === true ? 'text/event-stream' : 'application/json' });
      response.end(
        body['stream'] === true
          ? frames(calls('Oslo'))
              .map((one) => half(cut(one)))
              .join('')
          : cut(whole(calls('Oslo'))),
      );
    };
    await using server = await wireServer(answer);
    const asked = call(await open(server, 'anthropic-native'), requestOf({ tools: [weatherTool] }), mode);
    await expect(asked).rejects.toThrow(/may be cut within a call: it ended by max_tokens/);
  });

  it('says that a model is not there, and that a server is overloaded', async () => {
    const failureOf = async (answer: Answerer) => {
      await using server = await wireServer(answer);
      const failed = call(await open(server, 'anthropic-native'), requestOf({}), 'whole');
      return classifyModelFailure(
        await failed.then(
          () => 'it answered',
          (error: unknown) => error,
        ),
      );
    };
    const said = (type: string, message: string) => JSON.stringify({ type: 'error', error: { type, message } });
    expect(await failureOf(status(404, said('not_found_error', 'model: test')))).toMatchObject({
      code: 'model_unknown',
    });
    expect(await failureOf(status(529, said('overloaded_error', 'Overloaded')))).toMatchObject({ retryable: true });
    expect(await failureOf(status(402, said('billing_error', 'Credit')))).toMatchObject({ retryable: false });
  });
});

describe('Gemini', () => {
  const asked = async (modelSettings: object, name = 'gemini-3-pro-preview') => {
    await using server = await wireServer(answers(GOOGLE, { text: 'Yes.' }));
    await call(await open(server, 'google-native', name), requestOf({ modelSettings }), 'whole');
    return server.received[0]?.body['generationConfig'];
  };

  it('says the effort as a level, or as tokens to a model that takes these', async () => {
    expect(await asked({ maxTokens: 500, reasoning: { effort: 'low' } })).toMatchObject({
      ...{ maxOutputTokens: 500, thinkingConfig: { thinkingLevel: 'low', includeThoughts: true } },
    });
    expect(await asked({ reasoning: { effort: 'medium' } }, 'gemini-2.5-flash')).toMatchObject({
      thinkingConfig: { thinkingBudget: 8_192, includeThoughts: true },
    });
    await expect(asked({ reasoning: { effort: 'none' } })).rejects.toThrow('without thinking');
    await expect(asked({ parallelToolCalls: false })).rejects.toThrow('parallelToolCalls');
  });

  it('fails for a prompt that was blocked', async () => {
    const body = JSON.stringify({ promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { promptTokenCount: 4 } });
    await using server = await wireServer(status(200, body, { 'content-type': 'application/json' }));
    const failed = call(await open(server, 'google-native'), requestOf({}), 'whole');
    const failure = classifyModelFailure(
      await failed.then(
        () => 'it answered',
        (error: unknown) => error,
      ),
    );
    expect(failure).toMatchObject({ retryable: false, message: expect.stringContaining('SAFETY') });
  });
});

describe('nativeApi', () => {
  it.each([
    [{ like: 'openai' }, 'like: expected one of anthropic-native, google-native'],
    [{ like: 'anthropic-native', baseURL: 'ftp://x' }, 'baseURL'],
    [
      { like: 'anthropic-native', baseURL: 'http://127.0.0.1:1/v1' },
      'key: is missing: ANTHROPIC_API_KEY is for Anthropic',
    ],
    [{ like: 'google-native', cache: true }, 'cache: expected none'],
    [{ like: 'google-native', timeoutMs: 0 }, 'timeoutMs'],
    [{ like: 'google-native', unknown: 1 }, 'unknown'],
  ])('refuses the options %j', async (options, said) => {
    const provider = nativeApi(Object.assign({ like: 'google-native' as const }, options));
    await expect(provider.getModel('test')).rejects.toMatchObject({
      ...{ code: 'config_invalid', message: expect.stringContaining(said) },
    });
  });
});
