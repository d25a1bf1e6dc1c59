import { ModelBehaviorError, type ModelRequest, type ModelResponse, type StreamEvent } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { OllamaModel, type OllamaModelOptions } from '../../src/models/ollama-model.js';
import { requestOf, weatherTool } from './requests.js';
import { chunk, lastChunk, says, saysInPieces, saysRaw, toolCall } from './servers/ollama-server.js';
import { type Answerer, status, wireServer } from './servers/wire-server.js';

let count = 0;
const newId = () => `id${count++}`;

/** The answer to one call, whole. */
async function answer(
  answers: readonly Answerer[],
  part: Partial<ModelRequest> = {},
  options: OllamaModelOptions = {},
): Promise<ModelResponse> {
  await using server = await wireServer(...answers);
  return await new OllamaModel('test', { baseURL: server.url, newId, ...options }).getResponse(requestOf(part));
}

async function events(
  answers: readonly Answerer[],
  part: Partial<ModelRequest> = {},
  options: OllamaModelOptions = {},
): Promise<StreamEvent[]> {
  await using server = await wireServer(...answers);
  const model = new OllamaModel('test', { baseURL: server.url, newId, ...options });
  const seen: StreamEvent[] = [];
  for await (const event of model.getStreamedResponse(requestOf(part))) seen.push(event);
  return seen;
}

const deltasIn = (seen: readonly StreamEvent[]) =>
  seen.flatMap((event) => (event.type === 'output_text_delta' ? [event.delta] : []));
const typesIn = ({ output }: ModelResponse) => output.map((item) => item.type);
const callsIn = ({ output }: ModelResponse) => output.filter((item) => item.type === 'function_call');
const message = (text: string, status: 'completed' | 'incomplete' = 'completed') => ({
  type: 'message',
  role: 'assistant',
  id: expect.stringMatching(/^msg_/),
  status,
  content: [{ type: 'output_text', text }],
});

describe('an answer of Ollama', () => {
  it('that is text is one completed message', async () => {
    const response = await answer([says(chunk({ content: 'a' }), chunk({ content: 'b' }), lastChunk())]);
    expect(response.output).toEqual([message('ab')]);
    expect(response.providerData).toMatchObject({ doneReason: 'stop', model: 'test' });
  });

  it('that comes whole, as older servers send it, is the same', async () => {
    const response = await answer([saysRaw(JSON.stringify(lastChunk({}, { content: 'ab' })))]);
    expect(response.output).toEqual([message('ab')]);
  });

  it('without any text is an empty message', async () => {
    expect((await answer([says(lastChunk())])).output).toEqual([message('')]);
  });

  it('keeps the ids of calls as they are', async () => {
    const calls = [toolCall('a', {}, { id: 'weird/1' }), toolCall('b', {}, { id: 'call_2' })];
    const response = await answer([says(chunk({ tool_calls: calls }), lastChunk())]);
    expect(callsIn(response).map(({ callId }) => callId)).toEqual(['weird/1', 'call_2']);
  });

  it('makes ids where there are none or where one comes twice, of the id of the response', async () => {
    const calls = [
      toolCall('a', {}),
      toolCall('a', {}, { id: 'x' }),
      toolCall('a', {}, { id: 'x' }),
      toolCall('a', {}, { id: '' }),
    ];
    const response = await answer([says(chunk({ tool_calls: calls }), lastChunk())], {}, { newId: () => '12-34' });
    expect(response.responseId).toBe('resp_1234');
    expect(callsIn(response).map(({ callId }) => callId)).toEqual(['call_1234_0', 'x', 'call_1234_2', 'call_1234_3']);
  });

  it.each([
    ['an object, its keys in order', { b: 1, a: { d: [2], c: null } }, '{"b":1,"a":{"d":[2],"c":null}}'],
    ['a text', '{"b": 1}', '{"b": 1}'],
    ['a text in a text', JSON.stringify('{"b":1}'), '{"b":1}'],
    ['missing', undefined, '{}'],
    ['null', null, '{}'],
    ['an empty text', '', '{}'],
    ['beyond repair', 'get the weather', 'get the weather'],
  ])('gives arguments that are %s', async (_what, args, text) => {
    const response = await answer([says(chunk({ tool_calls: [toolCall('a', args)] }), lastChunk())]);
    expect(callsIn(response)[0]?.arguments).toBe(text);
    expect(response.providerData).not.toHaveProperty('warnings');
  });

  it.each([`{'b': 1,}`, '{b: 1'])('repairs the arguments %s and says so', async (args) => {
    const response = await answer([says(chunk({ tool_calls: [toolCall('a', args)] }), lastChunk())]);
    expect(JSON.parse(callsIn(response)[0]?.arguments ?? '')).toEqual({ b: 1 });
    expect(response.providerData?.['warnings']).toEqual([expect.stringContaining('repaired')]);
  });

  it('with thinking, text and calls gives all of them, in this order, each with an id of its own', async () => {
    const response = await answer([
      says(
        chunk({ thinking: 'Hm', content: 'Let me ' }),
        chunk({ content: 'look.' }),
        lastChunk({}, { tool_calls: [toolCall('a', {})] }),
      ),
    ]);
    expect(typesIn(response)).toEqual(['reasoning', 'message', 'function_call']);
    expect(response.output[0]).toMatchObject({ content: [], rawContent: [{ type: 'reasoning_text', text: 'Hm' }] });
    expect(new Set(response.output.map(({ id }) => id)).size).toBe(3);
    expect(response.output.every((item) => item.providerData === undefined)).toBe(true);
  });

  it('keeps what comes after a call', async () => {
    const response = await answer([
      says(
        chunk({ tool_calls: [toolCall('a', {})] }),
        chunk({ content: 'wait' }),
        chunk({ tool_calls: [toolCall('b', {})] }),
        lastChunk(),
      ),
    ]);
    expect(callsIn(response).map(({ name }) => name)).toEqual(['a', 'b']);
    expect(response.output[0]).toEqual(message('wait'));
    expect(response.usage.totalTokens).toBe(18);
  });

  it('keeps only the first call when calls must not be parallel', async () => {
    const calls = [toolCall('a', {}), toolCall('b', {})];
    const response = await answer([says(chunk({ tool_calls: calls }), lastChunk())], {
      modelSettings: { parallelToolCalls: false },
    });
    expect(callsIn(response).map(({ name }) => name)).toEqual(['a']);
    expect(response.providerData?.['warnings']).toEqual([expect.stringMatching(/dropped: b/)]);
  });

  it('that was cut is incomplete', async () => {
    const response = await answer([says(lastChunk({ done_reason: 'length' }, { content: 'The' }))]);
    expect(response.output).toEqual([message('The', 'incomplete')]);
    expect(response.providerData).toMatchObject({ doneReason: 'length' });
  });

  it.each([
    [
      'was cut in a call',
      lastChunk({ done_reason: 'length' }, { content: 'So', tool_calls: [toolCall('pay', { to: 'A' })] }),
      /call may be cut/,
    ],
    ['is only thinking', lastChunk({}, { thinking: 'Hm' }), /neither answered nor called/],
    ['was cut while thinking', lastChunk({ done_reason: 'length' }, { thinking: 'Hm' }), /Raise maxTokens/],
  ])('that %s is an error', async (_what, last, why) => {
    await expect(answer([says(last)])).rejects.toThrow(ModelBehaviorError);
    await expect(answer([says(last)])).rejects.toThrow(why);
  });

  it('that does not call what it must is an error', async () => {
    const part = { tools: [weatherTool], modelSettings: { toolChoice: 'required' } };
    await expect(answer([says(lastChunk({}, { content: 'No.' }))], part)).rejects.toThrow(/told to call weather/);
  });

  it.each(['load', 'unload'])('to a request that only says %s is empty', async (done_reason) => {
    const response = await answer([says(lastChunk({ done_reason }))]);
    expect(response).toMatchObject({ output: [], providerData: { doneReason: done_reason } });
  });

  it.each(['', null])('with the reason %j has stopped', async (done_reason) => {
    expect((await answer([says(lastChunk({ done_reason }))])).providerData).toMatchObject({ doneReason: 'stop' });
  });

  it('leaves tags in the text, unless they are to be taken out', async () => {
    const parts = ['<th', 'ink>H', 'm</thi', 'nk>\n\nYes <b>', '</think>'].map((content) => chunk({ content }));
    const plain = await answer([says(...parts, lastChunk())]);
    expect(plain.output).toEqual([message('<think>Hm</think>\n\nYes <b></think>')]);
    const taken = await answer([says(...parts, lastChunk())], {}, { extractThinking: true });
    expect(taken.output).toEqual([
      expect.objectContaining({ rawContent: [{ type: 'reasoning_text', text: 'Hm' }] }),
      message('Yes <b></think>'),
    ]);
    const seen = await events([says(...parts, lastChunk())], {}, { extractThinking: true });
    expect(deltasIn(seen).join('')).toBe('Yes <b></think>');
  });

  it.each(['<thin', ' <thought>', 'x <think>y</think>'])(
    'keeps the text %j when tags are taken out',
    async (content) => {
      const response = await answer([says(chunk({ content }), lastChunk())], {}, { extractThinking: true });
      expect(response.output).toEqual([message(content)]);
    },
  );

  it('passes on the probabilities of tokens', async () => {
    const response = await answer([
      says(chunk({ content: 'a' }, { logprobs: [{ token: 'a', logprob: -0.1 }] }), lastChunk()),
    ]);
    expect(response.providerData).toMatchObject({ logprobs: [{ token: 'a', logprob: -0.1 }] });
  });
});

describe('the tokens of an answer', () => {
  it('are counted, cached ones as a part of the input', async () => {
    const { usage } = await answer([says(lastChunk({ prompt_eval_cached_count: 4 }))]);
    expect(usage).toMatchObject({ requests: 1, inputTokens: 11, outputTokens: 7, totalTokens: 18 });
    expect(usage.inputTokensDetails).toEqual([{ cached_tokens: 4 }]);
  });

  it('are marked unknown when the server does not count', async () => {
    const response = await answer([saysRaw('{"message":{"content":"x"},"done":true}\n')]);
    expect(response.usage).toMatchObject({ requests: 1, inputTokens: 0, outputTokens: 0, totalTokens: 0 });
    expect(response.providerData).toMatchObject({ usageUnknown: true });
  });

  it('are kept raw, with durations, when asked for', async () => {
    const part = { modelSettings: { preserveRawUsage: true } };
    const response = await answer([says(lastChunk({ total_duration: 5_000_000 }))], part);
    expect(response.rawUsage).toEqual({ prompt_eval_count: 11, eval_count: 7, total_duration: 5_000_000 });
  });
});

describe('a streamed answer of Ollama', () => {
  it('is started once, gives no empty text, is done once, with one id throughout', async () => {
    const seen = await events([says(chunk({ content: 'a' }), chunk({}), chunk({ content: 'b' }), lastChunk())]);
    expect(seen.map(({ type }) => type)).toEqual([
      'response_started',
      'output_text_delta',
      'output_text_delta',
      'response_done',
    ]);
    const [, delta, , done] = seen;
    if (delta?.type !== 'output_text_delta' || done?.type !== 'response_done') throw new Error('another order');
    expect(done.response.output.map(({ id }) => id)).toEqual([delta.itemId]);
  });

  it.each([1, 2, 3, 5, 1_000])('is the same in pieces of %i bytes', async (length) => {
    const seen = await events([saysInPieces(length, chunk({ content: 'ü👩‍🚀' }), lastChunk({ eval_count: 3 }))]);
    expect(deltasIn(seen)).toEqual(['ü👩‍🚀']);
  });

  it('may have blank lines and other ends of lines', async () => {
    const lines = [chunk({ content: 'a' }), lastChunk()].map((one) => JSON.stringify(one));
    const seen = await events([saysRaw(`\r\n\n${lines.join('\r\n\r\n')}\r\n\n{"after":"the end"}`)]);
    expect(deltasIn(seen)).toEqual(['a']);
  });

  it('of 10,000 chunks takes linear time', async () => {
    const timed = async (length: number) => {
      const parts = Array.from({ length }, () => chunk({ content: 'x' }));
      const began = performance.now();
      const seen = await events([says(...parts, lastChunk())]);
      expect(deltasIn(seen)).toHaveLength(length);
      return performance.now() - began;
    };
    await timed(100);
    expect(await timed(10_000)).toBeLessThan(Math.max(2_000, 30 * (await timed(1_000))));
  });
});

describe('an answer that must have a form, of an agent with tools', () => {
  const schema = {
    type: 'object',
    properties: { n: { type: 'number' } },
    required: ['n'],
    additionalProperties: false,
  };
  const outputType: ModelRequest['outputType'] = JSON.parse(
    JSON.stringify({ type: 'json_schema', name: 'out', strict: true, schema }),
  );
  const part = { outputType, tools: [weatherTool] };

  it('is asked for a second time, with the form and without the tools', async () => {
    await using server = await wireServer(
      says(lastChunk({}, { content: 'It is 3.' })),
      says(lastChunk({}, { content: '{"n":3}' })),
    );
    const model = new OllamaModel('test', { baseURL: server.url });
    const response = await model.getResponse(requestOf(part));
    expect(response.output).toEqual([message('{"n":3}')]);
    expect(response.usage).toMatchObject({ requests: 2, inputTokens: 22, totalTokens: 36 });
    const [first, second] = server.received.map(({ body }) => body);
    expect(first).toMatchObject({ tools: [{}] });
    expect(first).not.toHaveProperty('format');
    expect(second).toMatchObject({ format: schema });
    expect(second).not.toHaveProperty('tools');
    expect(second?.['messages']).toEqual([
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'It is 3.' },
      expect.objectContaining({ role: 'user' }),
    ]);
  });

  it('streams only the answer that counts', async () => {
    const seen = await events(
      [
        says(lastChunk({}, { content: 'It is 3.' })),
        says(chunk({ content: '{"n":' }), lastChunk({}, { content: '3}' })),
      ],
      part,
    );
    expect(deltasIn(seen)).toEqual(['{"n":', '3}']);
    expect(seen.filter(({ type }) => type === 'response_started')).toHaveLength(1);
  });

  it('is taken as it is when it has the form', async () => {
    const seen = await events(
      [says(chunk({ content: '{"n"' }), lastChunk({}, { content: ':3}' })), status(500, '')],
      part,
    );
    expect(deltasIn(seen)).toEqual(['{"n":3}']);
  });

  it('waits while the model calls tools', async () => {
    const response = await answer(
      [
        says(lastChunk({}, { content: 'I look.', tool_calls: [toolCall('weather', { city: 'Oslo' })] })),
        status(500, ''),
      ],
      part,
    );
    expect(typesIn(response)).toEqual(['message', 'function_call']);
  });
});
