import { describe, expect, it } from 'vitest';
import { openaiCompatible } from '../../src/engine/agents/model-providers.js';
import { type ProbeRow, probeModel } from '../../src/models/providers/probe-model.js';
import { PROVIDERS } from './providers/all-providers.js';
import { type FakeProvider, obliging, serves, type Turn } from './providers/fake-provider.js';
import { chats } from './servers/chat-server.js';
import { CHAT } from './servers/chat-wire.js';
import { answers, refuses } from './servers/wire.js';
import { type Answerer, silence, wireServer } from './servers/wire-server.js';
import { SECRET } from './wire.contract.js';
import { WIRED } from './wired-models.js';

const LIMITS = { withinMs: 60_000, maxTokens: 900 };
const FORM = '{"city":"Oslo","degrees":12}';
const CHECKS = ['answer', 'stream', 'tool call', 'second turn', 'schema'];

const told = (rows: readonly ProbeRow[]) => rows.map(({ check, status }) => `${check}: ${status}`);
const allOk = [...CHECKS, 'usage'].map((check) => `${check}: ok`);

const chatAt = (url: string, provider: Pick<FakeProvider, 'prefix' | 'model'> | null = null) => {
  const like = provider === null || provider.prefix === 'gateway' ? {} : { like: provider.prefix };
  return openaiCompatible({ ...like, baseURL: `${url}/v1`, key: SECRET, api: 'chat' }).getModel(
    provider?.model ?? 'test',
  );
};

const asked = async (answerer: Answerer, limits = LIMITS) => {
  await using server = await wireServer(answerer);
  return { rows: await probeModel(await chatAt(server.url), limits), requests: server.received };
};

describe('what works with a server', () => {
  it.each(PROVIDERS.map((provider) => ({ provider, prefix: provider.prefix })))(
    'is all of it with $prefix, and its tokens are charged as it counts them',
    async ({ provider }) => {
      await using server = await wireServer(serves(provider, obliging(FORM)));
      const rows = await probeModel(await chatAt(server.url, provider), LIMITS);
      expect(told(rows), JSON.stringify(rows, null, 1)).toEqual(allOk);
      expect(server.received).toHaveLength(5);
      const turn = (number: 1 | 2): Turn => ({ number, thought: '', calls: [], text: '' });
      const charged = ([1, 1, 1, 2, 1] as const).map((number) => provider.charged(turn(number)));
      const sum = (field: 'inputTokens' | 'outputTokens') => charged.reduce((all, one) => all + one[field], 0);
      expect(rows.at(-1)).toMatchObject({ inputTokens: sum('inputTokens'), outputTokens: sum('outputTokens') });
      for (const { body } of server.received)
        expect([body['max_tokens'], body['max_completion_tokens']]).toContain(LIMITS.maxTokens);
    },
  );

  it.each(WIRED)('is all of it with $name', async ({ wire, open }) => {
    const call = { id: 'call_1', name: 'weather', args: { city: 'Oslo' } };
    const said = [{ text: FORM }, { text: FORM }, { calls: [call] }, { text: FORM }, { text: FORM }];
    await using server = await wireServer(...said.map((one) => answers(wire, one, 61)));
    const rows = await probeModel(await open(server.url), LIMITS);
    expect(told(rows), JSON.stringify(rows, null, 1)).toEqual(allOk);
    expect(rows.at(-1)).toMatchObject({ inputTokens: 55, outputTokens: 35 });
    expect(server.received).toHaveLength(5);
  });

  it('is a table of what fails where a server knows no tools and no schemas', async () => {
    const { rows, requests } = await asked(chats('Hello there'));
    expect(told(rows)).toEqual([
      ...['answer: ok', 'stream: ok', 'tool call: fail', 'second turn: skip', 'schema: fail', 'usage: ok'],
    ]);
    expect(rows[2]).toMatchObject({ detail: 'no call, but "Hello there"', wayOut: expect.stringContaining('tools') });
    expect(requests).toHaveLength(4);
  });

  it('says that tokens are not counted, and which are charged otherwise', async () => {
    const counting =
      (usage: object | undefined): Answerer =>
      (response) => {
        const message = { role: 'assistant', content: FORM };
        const choices = [{ index: 0, message, finish_reason: 'stop' }];
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model: 'test', choices, usage }));
      };
    const without = await asked(counting(undefined));
    expect(without.rows.at(-1)).toMatchObject({
      check: 'usage',
      status: 'warn',
      detail: expect.stringMatching(/no count/),
    });
    const less = await asked(counting({ prompt_tokens: 20, completion_tokens: 5, total_tokens: 18 }));
    expect(less.rows.at(-1)).toMatchObject({
      check: 'usage',
      status: 'warn',
      detail: expect.stringMatching(/server counts/),
    });
  });

  it.each([
    ['that refuses the key', refuses(CHAT, 401, `the key ${SECRET} is wrong`), /key/],
    ['that does not know the model', refuses(CHAT, 404, 'model not found'), /model/],
  ])('is nothing with a server %s, after one request', async (_what, answerer, wayOut) => {
    const { rows, requests } = await asked(answerer);
    expect(told(rows)).toEqual(['answer: fail', ...CHECKS.slice(1).map((check) => `${check}: skip`)]);
    expect(requests).toHaveLength(1);
    expect(rows[0]?.wayOut).toMatch(wayOut);
    expect(JSON.stringify(rows)).not.toContain(SECRET);
  });

  it('is nothing without a server', async () => {
    const server = await wireServer(silence);
    await server[Symbol.asyncDispose]();
    const rows = await probeModel(await chatAt(server.url), LIMITS);
    expect(told(rows)).toEqual(['answer: fail', ...CHECKS.slice(1).map((check) => `${check}: skip`)]);
  });

  it('is known within the time that it gets', async () => {
    const { rows, requests } = await asked(silence, { ...LIMITS, withinMs: 300 });
    expect(told(rows)).toEqual(['answer: fail', ...CHECKS.slice(1).map((check) => `${check}: skip`)]);
    expect(rows[0]?.detail).toMatch(/time/);
    expect(requests.length).toBeLessThan(2);
  });

  it('shows no key that a model says', async () => {
    const { rows } = await asked(chats(`My key is ${SECRET}, and twelve words more stand behind it to make it long.`));
    expect(JSON.stringify(rows)).not.toContain(SECRET.slice(0, 16));
    for (const { detail } of rows) expect(detail.length).toBeLessThan(200);
  });
});
