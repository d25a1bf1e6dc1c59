import { existsSync } from 'node:fs';
import { appendFile, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, type Model, Runner, tool } from '@openai/agents';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { toJson } from '../../src/core/json.js';
import { openaiCompatible } from '../../src/engine/agents/model-providers.js';
import { ReplayModelProvider } from '../../src/models/cassettes/replay-model-provider.js';
import { classifyModelFailure } from '../../src/models/failures/model-failure.js';
import { OllamaModel } from '../../src/models/ollama/ollama-model.js';
import { MultiModelProvider } from '../../src/models/providers/multi-model-provider.js';
import { call, FINAL, HELLO, MODES, type Mode, textIn } from './model.contract.js';
import { printed } from './printed.js';
import { requestOf } from './requests.js';
import { CHAT } from './servers/chat-wire.js';
import { chunk, cutAfter, lastChunk, says, saysInPieces, toolCall } from './servers/ollama-server.js';
import { RESPONSES } from './servers/responses-wire.js';
import { answers } from './servers/wire.js';
import { type Answerer, htmlPage, status, wireServer } from './servers/wire-server.js';

const KEY = 'a-key-of-the-tests-0123456789';

let directory = '';
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cassettes-'));
});
afterAll(() => rm(directory, { recursive: true }));

let count = 0;
const newName = () => `m${count++}`;

/** Records what `work` asks of a model, and gives the name of the cassette. */
async function recorded(answerers: readonly Answerer[], work: (model: Model) => Promise<unknown>): Promise<string> {
  const name = newName();
  await using server = await wireServer(...answerers);
  await work(new OllamaModel(name, { baseURL: server.url, apiKey: KEY, recordTo: directory }));
  // A reader that has enough leaves before the end of the answer.
  await expect.poll(async () => (await linesOf(name)).length - server.received.length).toBe(1);
  return name;
}

const linesOf = async (name: string): Promise<string[]> =>
  (await readFile(join(directory, `${name}.jsonl`), 'utf8')).trimEnd().split('\n');
const played = (name: string): Promise<Model> => new ReplayModelProvider(directory).getModel(name);
const failureOf = async (work: Promise<unknown>) =>
  classifyModelFailure(
    await work.then(
      () => 'it gave an answer',
      (error: unknown) => error,
    ),
    0,
  );
const ask = (model: Model, input = 'Hello') => call(model, requestOf({ input }), 'whole');

const weather = tool({
  name: 'weather',
  description: 'The weather of a city.',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => `12 degrees in ${city}`,
});

async function runAgent(model: Model, mode: Mode = 'whole'): Promise<unknown> {
  const agent = new Agent({ name: 'Weather', model, tools: [weather] });
  const runner = new Runner({ tracingDisabled: true });
  if (mode === 'whole') return (await runner.run(agent, 'Oslo?')).finalOutput;
  const result = await runner.run(agent, 'Oslo?', { stream: true });
  await result.completed;
  return result.finalOutput;
}

describe('a cassette', () => {
  it('plays what was recorded, ids and counts included, whole and streamed', async () => {
    const parts = [...HELLO].map((content) => chunk({ content }));
    let live: unknown;
    const name = await recorded([saysInPieces(7, ...parts, lastChunk())], async (model) => {
      live = toJson(await ask(model));
    });
    for (const mode of MODES) expect(toJson(await call(await played(name), requestOf({}), mode))).toEqual(live);
  });

  it('plays a whole run of an agent, whose later questions hold what was answered before', async () => {
    const calls = says(lastChunk({}, { tool_calls: [toolCall('weather', { city: 'Oslo' })] }));
    const name = await recorded([calls, says(lastChunk({}, { content: FINAL }))], (model) => runAgent(model));
    const provider = new ReplayModelProvider(directory);
    // The same again, for the next run.
    for (const _time of [1, 2]) expect(await runAgent(await provider.getModel(name))).toBe(FINAL);
  });

  it('answers equal questions in the order in which they were recorded', async () => {
    const name = await recorded(
      ['a', 'b'].map((content) => says(lastChunk({}, { content }))),
      async (model) => {
        await ask(model);
        await ask(model);
      },
    );
    const model = await played(name);
    const texts: string[] = [];
    for (const _time of [1, 2, 3]) texts.push(textIn((await ask(model)).output));
    expect(texts).toEqual(['a', 'b', 'a']);
  });

  it('keeps the settings that shape a request', async () => {
    const name = newName();
    await using server = await wireServer(says(lastChunk({}, { content: '<think>Hm</think>Yes' })));
    const options = { numCtx: 8_192, keepAlive: 0, think: 'low', options: { top_k: 1 }, extractThinking: true };
    const live = await ask(new OllamaModel(name, { baseURL: server.url, recordTo: directory, ...options }));
    await expect.poll(() => linesOf(name)).toHaveLength(2);
    expect(toJson(await ask(await played(name)))).toEqual(toJson(live));
  });

  it.each([
    ['a lost connection', cutAfter(chunk({ content: 'I' }))],
    ['an answer that ends early', says(chunk({ content: 'I' }))],
    ['a page', htmlPage(502, { 'retry-after': '7' })],
    ['429', status(429, '{"error":"slow down"}', { 'retry-after-ms': '1500' })],
    ['404', status(404, '{"error":"model \\"x\\" not found"}')],
  ])('breaks as the server did: %s', async (_what, answerer) => {
    let live = {};
    const name = await recorded([answerer], async (model) => {
      live = await failureOf(ask(model));
    });
    const { code, retryable, retryAfterMs } = await failureOf(ask(await played(name)));
    expect(live).toMatchObject({ code, retryable, retryAfterMs });
  });

  it('says what differs in a question that it does not have', async () => {
    const name = await recorded([says(lastChunk())], async (model) => {
      await ask(model, 'Hello');
      await ask(model, 'Goodbye');
    });
    const failure = await failureOf(ask(await played(name), 'Good night'));
    expect(failure).toMatchObject({ code: 'cassette_unmatched', retryable: false });
    expect(failure.message).toMatch(
      /among its 2; in the nearest, number 2, \/messages\/0\/content is "Goodbye", and here it is "Good night"/,
    );
  });

  it('prints nothing', async () => {
    const shown = await printed(async () => {
      const name = await recorded([says(lastChunk())], (model) => ask(model));
      await failureOf(ask(await played(name), 'Else'));
    });
    expect(shown).toEqual([]);
  });
});

describe('a key', () => {
  it('is on no cassette, wherever the server repeats it', async () => {
    const name = await recorded(
      [
        saysInPieces(5, chunk({ content: `Your key is ${KEY}` }), lastChunk()),
        status(429, `{"error":"${KEY} is slow"}`, { 'retry-after': KEY, 'x-api-key': KEY }),
        says(lastChunk({}, { content: Buffer.from(KEY).toString('base64') })),
      ],
      async (model) => {
        await ask(model, `Is ${KEY} mine?`);
        await failureOf(ask(model));
        await ask(model);
      },
    );
    const lines = await linesOf(name);
    const text = lines.join('\n');
    const bodies = lines.slice(1).map((line) => JSON.parse(line).answer.pieces.join(''));
    for (const form of [KEY, Buffer.from(KEY).toString('base64'), 'Bearer', 'uthorization']) {
      expect(text + bodies.join('')).not.toContain(form);
    }
    expect(bodies[0]).toContain(`Your key is ${'*'.repeat(KEY.length)}`);
  });
});

describe.each([
  ['chat', CHAT],
  ['responses', RESPONSES],
] as const)('a cassette of the API %s', (api, wire) => {
  const model = (url: string, name: string) =>
    openaiCompatible({ baseURL: `${url}/v1`, key: KEY, api, recordTo: directory }).getModel(name);

  it.each(MODES)('plays a run of an agent and has no key, %s', async (mode) => {
    const name = newName();
    await using server = await wireServer(
      answers(wire, { calls: [{ id: 'call_1', name: 'weather', args: { city: 'Oslo' } }] }, 7),
      answers(wire, { text: FINAL }, 7),
    );
    expect(await runAgent(await model(server.url, name), mode)).toBe(FINAL);
    await expect.poll(() => linesOf(name)).toHaveLength(3);
    expect((await linesOf(name)).join()).not.toMatch(new RegExp(`${KEY}|uthorization`));
    const provider = new MultiModelProvider({ cassettesDir: directory });
    expect(await runAgent(await provider.getModel(`replay/${name}`), mode)).toBe(FINAL);
  });

  it('says what differs in a question that it does not have', async () => {
    const name = newName();
    await using server = await wireServer(answers(wire, { text: FINAL }));
    await ask(await model(server.url, name));
    const failure = await failureOf(ask(await played(name), 'Else'));
    expect(failure).toMatchObject({ code: 'cassette_unmatched', retryable: false });
    expect(failure.message).toContain('here it is "Else"');
  });
});

describe('the file of a cassette', () => {
  const hello = () => recorded([says(lastChunk({}, { content: 'a' }))], (model) => ask(model));

  it('keeps the pieces of an answer as they came, also where one cuts a character', async () => {
    const name = await recorded([saysInPieces(3, lastChunk({}, { content: 'ü👩‍🚀' }))], (model) => ask(model));
    const { pieces } = JSON.parse((await linesOf(name))[1] ?? '').answer;
    expect(pieces.length).toBeGreaterThan(10);
    expect(pieces.some((piece: unknown) => typeof piece === 'object')).toBe(true);
    expect(textIn((await ask(await played(name))).output)).toBe('ü👩‍🚀');
  });

  it('is named after its model', async () => {
    await using server = await wireServer(says(lastChunk()));
    await ask(new OllamaModel('hf.co/org/m:Q4', { baseURL: server.url, recordTo: directory }));
    await expect.poll(() => linesOf('hf.co-org-m-Q4')).toHaveLength(2);
  });

  it('whose writer died in a line plays the others, and goes on', async () => {
    const name = await hello();
    const path = join(directory, `${name}.jsonl`);
    await appendFile(path, '{"request":{"met');
    expect(textIn((await ask(await played(name))).output)).toBe('a');
    await using server = await wireServer(says(lastChunk({}, { content: 'b' })));
    await ask(new OllamaModel(name, { baseURL: server.url, recordTo: directory }), 'Bye');
    await expect.poll(() => linesOf(name)).toHaveLength(3);
    expect(textIn((await ask(await played(name), 'Bye')).output)).toBe('b');
  });

  it('whose writer died in the first line begins again, and a file of something else stays as it is', async () => {
    const recordTo = await mkdtemp(join(directory, 'first-'));
    await using server = await wireServer(says(lastChunk({}, { content: 'a' })));
    await writeFile(join(recordTo, 'm.jsonl'), '{"api":"oll');
    await ask(new OllamaModel('m', { baseURL: server.url, recordTo }));
    await expect
      .poll(async () =>
        (await readFile(join(recordTo, 'm.jsonl'), 'utf8')).split('\n').map((line) => line.slice(0, 14)),
      )
      .toEqual(['{"api":"ollama', '{"answer":{"cu', '']);
    await writeFile(join(recordTo, 'n.jsonl'), 'notes');
    const other = new OllamaModel('n', { baseURL: server.url, recordTo });
    expect(await failureOf(ask(other))).toMatchObject({ code: 'cassette_invalid' });
    expect(await readFile(join(recordTo, 'n.jsonl'), 'utf8')).toBe('notes');
  });

  it.skipIf(!existsSync('/dev/full'))(
    'that cannot be written fails the call, or the next one of a reader that left',
    async () => {
      const recordTo = await mkdtemp(join(directory, 'full-'));
      await symlink('/dev/full', join(recordTo, 'm.jsonl'));
      const failed = { code: 'cassette_invalid', message: expect.stringContaining('cannot be written') };
      await using chat = await wireServer(answers(CHAT, { text: 'a' }));
      const model = await openaiCompatible({ baseURL: `${chat.url}/v1`, key: null, recordTo }).getModel('m');
      expect(await failureOf(ask(model))).toMatchObject(failed);
      await using server = await wireServer(says(lastChunk({}, { content: 'a' })));
      const other = new OllamaModel('m', { baseURL: server.url, recordTo });
      await expect.poll(() => failureOf(ask(other))).toMatchObject(failed);
    },
  );

  it('where none can be fails the call before it is made', async () => {
    await writeFile(join(directory, 'a-file'), '');
    await using server = await wireServer(says(lastChunk()));
    const model = new OllamaModel('m', { baseURL: server.url, recordTo: join(directory, 'a-file', 'below') });
    expect(await failureOf(ask(model))).toMatchObject({ code: 'cassette_invalid' });
    expect(server.received).toEqual([]);
  });

  it('of other settings is not added to', async () => {
    const name = await hello();
    await using server = await wireServer(says(lastChunk()));
    const model = new OllamaModel(name, { baseURL: server.url, recordTo: directory, numCtx: 5 });
    expect(await failureOf(ask(model))).toMatchObject({ code: 'cassette_invalid' });
    expect(server.received).toEqual([]);
    expect(await linesOf(name)).toHaveLength(2);
  });

  it.each([
    ['another version', (text: string) => text.replace('"version":1', '"version":2'), /Line 1 .*version/],
    ['no JSON', (text: string) => text.replace('{"answer"', '{'), /Line 2 .*not JSON/],
    ['another shape', (text: string) => text.replace('"cut":false', '"cut":0'), /Line 2 .*answer\.cut/],
    ['nothing', () => '', /is empty/],
  ])('with %s is refused', async (_what, change, why) => {
    const name = await hello();
    const path = join(directory, `${name}.jsonl`);
    await writeFile(path, change(await readFile(path, 'utf8')));
    await expect(played(name)).rejects.toMatchObject({
      code: 'cassette_invalid',
      message: expect.stringMatching(why),
    });
  });

  it.each(['', '..', '../secret', 'a/../../b', '/etc/passwd', '.hidden', 'a//b', 'a\0b', 'nowhere'])(
    'is not found under the name %j',
    async (name) => {
      await expect(played(name)).rejects.toMatchObject({ code: 'cassette_invalid' });
    },
  );

  it('is not one that a link leads to, outside of the directory', async () => {
    const outside = await mkdtemp(join(tmpdir(), 'elsewhere-'));
    await writeFile(join(outside, 'x.jsonl'), '');
    await symlink(join(outside, 'x.jsonl'), join(directory, 'link.jsonl'));
    await expect(played('link')).rejects.toMatchObject({ message: expect.stringContaining('leads out') });
    await rm(outside, { recursive: true });
  });
});
