import { ModelBehaviorError, type ModelResponse } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { ThinkTags } from '../../../src/models/ollama/ollama-answer.js';
import { chunk, lastChunk, says, saysRaw, toolCall } from '../servers/ollama-server.js';
import { ask, callsIn, done, failing, message, textsIn, thought } from './ask-ollama.js';

/** The numbers are those of the cases that a model of Ollama must hold. Each answer is read whole and streamed. */

const calls = (...all: object[]) => says(chunk({ tool_calls: all }), lastChunk());
const warningsIn = ({ providerData }: ModelResponse) => providerData?.['warnings'];

describe('an answer', () => {
  it('44: that is text is one completed message', async () => {
    const { response } = await ask(says(chunk({ content: 'a' }), chunk({ content: 'b' }), lastChunk()));
    expect(response.output).toEqual([message('ab')]);
  });

  it('44: that comes whole, as older servers send it, is the same', async () => {
    const { response } = await ask(saysRaw(JSON.stringify(lastChunk({}, { content: 'ab' }))));
    expect(response.output).toEqual([message('ab')]);
  });

  it('45, 98: keeps the ids of calls as they are', async () => {
    const { response } = await ask(calls(toolCall('a', {}, { id: 'weird/1' }), toolCall('b', {}, { id: 'call_2' })));
    expect(callsIn(response).map(({ callId }) => callId)).toEqual(['weird/1', 'call_2']);
  });

  it('46: gives ids to calls that have none or share one, which the same traffic gives again', async () => {
    const all = [
      toolCall('a', {}),
      toolCall('a', {}, { id: 'x' }),
      toolCall('a', {}, { id: 'x' }),
      toolCall('a', {}, { id: '' }),
    ];
    const first = (await ask(calls(...all))).response;
    const ids = callsIn(first).map(({ callId }) => callId);
    expect(ids).toEqual([
      expect.stringMatching(/^call_[0-9a-f]{32}_0$/),
      'x',
      expect.stringMatching(/^call_[0-9a-f]{32}_2$/),
      expect.stringMatching(/^call_[0-9a-f]{32}_3$/),
    ]);
    const again = (await ask(calls(...all))).response;
    expect(callsIn(again).map(({ callId }) => callId)).toEqual(ids);
  });

  it.each([
    ['another question', { input: 'Bye' }, {}],
    ['the same question at another time', {}, { created_at: '2026-01-01T00:00:00.000000001Z' }],
  ])('46: gives other ids for %s', async (_what, part, rest) => {
    const answers = (more: object) => says(lastChunk(more, { tool_calls: [toolCall('a', {})] }));
    const first = (await ask(answers({}))).response;
    const second = (await ask(answers(rest), part)).response;
    expect(callsIn(first)[0]?.callId).not.toBe(callsIn(second)[0]?.callId);
    expect(first.responseId).not.toBe(second.responseId);
  });

  it('46: makes its ids of one that is given to it', async () => {
    const { response } = await ask(calls(toolCall('a', {})), {}, { newId: () => '12-34' });
    expect(response.responseId).toBe('resp_1234');
    expect(response.output).toMatchObject([{ id: 'fc_1234_0', callId: 'call_1234_0' }]);
  });

  it.each([
    ['47: an object, its keys in order', { b: 1, a: { d: [2], c: null } }, '{"b":1,"a":{"d":[2],"c":null}}'],
    ['47: a text', '{"b": 1}', '{"b": 1}'],
    ['47: a text in a text', JSON.stringify('{"b":1}'), '{"b":1}'],
    ['47: beyond repair', 'get the weather', 'get the weather'],
    ['48: missing', undefined, '{}'],
    ['48: null', null, '{}'],
    ['48: an empty text', '', '{}'],
  ])('%s, as arguments', async (_what, args, text) => {
    const { response } = await ask(calls(toolCall('a', args)));
    expect(callsIn(response)[0]?.arguments).toBe(text);
    expect(warningsIn(response)).toBeUndefined();
  });

  it.each([`{'b': 1,}`, '{b: 1'])('47: the arguments %s are repaired, and the answer says so', async (args) => {
    const { response } = await ask(calls(toolCall('a', args)));
    expect(JSON.parse(callsIn(response)[0]?.arguments ?? '')).toEqual({ b: 1 });
    expect(warningsIn(response)).toEqual([expect.stringContaining('repaired')]);
  });

  it('49, 53, 100: with thinking, text and calls gives all of them, in this order, each with an id of its own', async () => {
    const { response, events } = await ask(
      says(
        chunk({ thinking: 'Hm', content: 'Let me ' }),
        chunk({ content: 'look.' }),
        lastChunk({}, { tool_calls: [toolCall('a', {})] }),
      ),
    );
    expect(response.output).toMatchObject([
      thought('Hm'),
      message('Let me look.'),
      { type: 'function_call', name: 'a' },
    ]);
    expect(new Set(response.output.map(({ id }) => id)).size).toBe(3);
    expect(response.output.every((item) => item.providerData === undefined)).toBe(true);
    expect(events.slice(0, 3)).toMatchObject([
      { type: 'response_started' },
      { type: 'model', event: { type: 'holdfast.reasoning', delta: 'Hm' } },
      { type: 'output_text_delta', delta: 'Let me ' },
    ]);
  });

  it.each([
    ['in one chunk', calls(toolCall('a', {}, { index: 0 }), toolCall('b', {}, { index: 0 }))],
    [
      'in several chunks',
      says(
        chunk({ tool_calls: [toolCall('a', {}, { index: 0 })] }),
        chunk({ tool_calls: [toolCall('b', {}, { index: 0 })] }),
        lastChunk(),
      ),
    ],
  ])('50: calls that all say index 0 are apart, %s', async (_where, answer) => {
    expect(callsIn((await ask(answer)).response).map(({ name }) => name)).toEqual(['a', 'b']);
  });

  it('51: may have its only call in the last chunk', async () => {
    const { response } = await ask(says(lastChunk({}, { tool_calls: [toolCall('a', {})] })));
    expect(response.output).toMatchObject([{ type: 'function_call', name: 'a' }]);
  });

  it('52: keeps what comes after a call', async () => {
    const { response } = await ask(
      says(
        chunk({ tool_calls: [toolCall('a', {})] }),
        chunk({ content: 'wait' }),
        chunk({ tool_calls: [toolCall('b', {})] }),
        lastChunk(),
      ),
    );
    expect(callsIn(response).map(({ name }) => name)).toEqual(['a', 'b']);
    expect(response.output[0]).toEqual(message('wait'));
    expect(response.usage.totalTokens).toBe(18);
  });

  it('54: keeps thinking that no one asked for', async () => {
    const { response, bodies } = await ask(says(chunk({ thinking: 'Hm' }), lastChunk({}, { content: 'Yes' })));
    expect(bodies[0]).not.toHaveProperty('think');
    expect(response.output).toEqual([thought('Hm'), message('Yes')]);
  });

  it.each([
    ['55: is only thinking', lastChunk({}, { thinking: 'Hm' }), /neither answered nor called/],
    ['55: was cut while thinking', lastChunk({ done_reason: 'length' }, { thinking: 'Hm' }), /Raise maxTokens/],
    [
      '57: was cut in a call',
      lastChunk({ done_reason: 'length' }, { content: 'So', tool_calls: [toolCall('pay', { to: 'A' })] }),
      /call may be cut/,
    ],
  ])('%s: an error, after one request', async (_what, last, why) => {
    const { whole, streamed, requests } = await failing(says(last));
    for (const error of [whole, streamed]) {
      expect(error).toBeInstanceOf(ModelBehaviorError);
      expect(String(error)).toMatch(why);
    }
    expect(requests).toBe(2);
  });

  const tagged = ['<th', 'ink>H', 'm</thi', 'nk>\n\nYes <b>', '</think>'].map((content) => chunk({ content }));

  it('56: leaves tags in the text, unless they are to be taken out', async () => {
    const plain = await ask(says(...tagged, lastChunk()));
    expect(plain.response.output).toEqual([message('<think>Hm</think>\n\nYes <b></think>')]);
    const taken = await ask(says(...tagged, lastChunk()), {}, { extractThinking: true });
    expect(taken.response.output).toEqual([thought('Hm'), message('Yes <b></think>')]);
    expect(textsIn(taken.events).join('')).toBe('Yes <b></think>');
  });

  it.each([
    '<think>Hm</think>\n\n Yes <b></think>',
    '  <think>\n</think>',
    '<think>no end </thin',
    '<think></think> \n',
    'Hi <think>',
  ])('56: is the same in whatever pieces it comes: %j', (whole) => {
    const told = (cuts: readonly number[]) => {
      const tags = new ThinkTags();
      const parts = [0, ...cuts].map((start, at) => tags.add(whole.slice(start, cuts[at] ?? whole.length)));
      const all = [...parts, tags.end()];
      return [all.map(({ thinking }) => thinking).join(''), all.map(({ text }) => text).join('')];
    };
    const together = told([]);
    for (let first = 0; first <= whole.length; first++)
      for (let second = first; second <= whole.length; second++)
        expect(told([first, second]), `cut at ${first} and ${second}`).toEqual(together);
    expect(told(Array.from(whole, (_char, at) => at + 1))).toEqual(together);
  });

  it.each(['<thin', ' <thought>', 'x <think>y</think>', '  two blanks'])(
    '56: keeps the text %j when tags are taken out',
    async (content) => {
      const { response } = await ask(says(chunk({ content }), lastChunk()), {}, { extractThinking: true });
      expect(response.output).toEqual([message(content)]);
    },
  );

  it.each([
    ['stop', 'stop', 'stop', 'completed'],
    ['', 'stop', 'stop', 'completed'],
    [null, 'stop', 'stop', 'completed'],
    ['length', 'length', 'length', 'incomplete'],
    ['weird', 'weird', 'weird', 'incomplete'],
  ] as const)('57: ended by %j', async (done_reason, doneReason, finishReason, state) => {
    const { response } = await ask(says(lastChunk({ done_reason }, { content: 'The' })));
    expect(response.output).toEqual([message('The', state)]);
    expect(response.providerData).toMatchObject({ doneReason, finishReason });
  });

  it('57: ended with calls is ended by them', async () => {
    const { response } = await ask(calls(toolCall('a', {})));
    expect(response.providerData).toMatchObject({ doneReason: 'stop', finishReason: 'tool_calls' });
  });

  it.each(['load', 'unload', 'weird'])('57: without text that only says %s has no message', async (done_reason) => {
    const { response } = await ask(says(lastChunk({ done_reason })));
    expect(response).toMatchObject({ output: [], providerData: { doneReason: done_reason } });
  });

  it('57: without any text is an empty message', async () => {
    expect((await ask(done(''))).response.output).toEqual([message('')]);
  });

  it('41: passes on the probabilities of tokens', async () => {
    const logprobs = [{ token: 'a', logprob: -0.1 }];
    const { response } = await ask(says(chunk({ content: 'a' }, { logprobs }), lastChunk()));
    expect(response.providerData).toMatchObject({ logprobs });
  });

  it('62: has one id throughout, and its items have their own', async () => {
    const { response, events } = await ask(says(chunk({ thinking: 'a' }), chunk({ content: 'b' }), lastChunk()));
    const itemIds = events.flatMap((event) => (event.type === 'output_text_delta' ? [event.itemId] : []));
    expect(new Set(itemIds)).toEqual(new Set([response.output[1]?.id]));
    expect(new Set([response.responseId, ...response.output.map(({ id }) => id)]).size).toBe(3);
  });
});

describe('the tokens of an answer', () => {
  it('58: are counted', async () => {
    const { usage } = (await ask(says(lastChunk()))).response;
    expect(usage).toMatchObject({ requests: 1, inputTokens: 11, outputTokens: 7, totalTokens: 18 });
  });

  it.each([
    ['nothing', '{"message":{"content":"x"},"done":true}', [0, 0, 0]],
    ['no prompt, as after a cache', '{"message":{"content":"x"},"done":true,"eval_count":3}', [0, 3, 3]],
  ])(
    '59: are marked unknown when the server counts %s',
    async (_what, line, [inputTokens, outputTokens, totalTokens]) => {
      const { response } = await ask(saysRaw(`${line}\n`), {}, { newId: () => 'a' });
      expect(response.usage).toMatchObject({ requests: 1, inputTokens, outputTokens, totalTokens });
      expect(response.providerData).toMatchObject({ usageUnknown: true });
    },
  );

  it('60: have the cached ones as a part of the input', async () => {
    const { usage } = (await ask(says(lastChunk({ prompt_eval_cached_count: 4 })))).response;
    expect(usage).toMatchObject({ inputTokens: 11, totalTokens: 18, inputTokensDetails: [{ cached_tokens: 4 }] });
  });

  it('61: are kept raw, with durations, when asked for', async () => {
    const part = { modelSettings: { preserveRawUsage: true } };
    const { response } = await ask(says(lastChunk({ total_duration: 5_000_000 })), part);
    expect(response.rawUsage).toEqual({ prompt_eval_count: 11, eval_count: 7, total_duration: 5_000_000 });
    expect((await ask(says(lastChunk()))).response).not.toHaveProperty('rawUsage');
  });
});
