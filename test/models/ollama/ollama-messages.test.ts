import { rm, writeFile } from 'node:fs/promises';
import type { AgentInputItem, ModelRequest } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { OllamaModel } from '../../../src/models/ollama/ollama-model.js';
import { SLOW } from '../../harness/slow.js';
import { callItem, requestOf, resultItem, textItem } from '../requests.js';
import { type Answerer, wireServer } from '../servers/wire-server.js';
import { ask, type Body, done, messagesOf, refusal, sent } from './ask-ollama.js';

/** The numbers are those of the cases that a model of Ollama must hold; the next ones are in the files beside this one. */

const PNG = Buffer.from('not really a png').toString('base64');
const user = (...content: object[]): AgentInputItem => JSON.parse(JSON.stringify({ role: 'user', content }));
const image = (data: unknown) => ({ type: 'input_image', image: data });
const thinks = (text: string): AgentInputItem => ({
  type: 'reasoning',
  content: [],
  rawContent: [{ type: 'reasoning_text', text }],
});
const call = (name: string, args: unknown, index: number, id: string) => ({
  id,
  function: { index, name, arguments: args },
});
const withArguments = (text: string) => ({ ...callItem('a', {}, 'c1'), arguments: text });
const argumentsSent = async (text: string): Promise<unknown> => {
  const [first] = Object.values(Object(await messagesOf([withArguments(text)])));
  return Object(first).tool_calls[0].function.arguments;
};

describe('what is said', () => {
  it('1: a text is one message of the user', async () => {
    expect(await messagesOf('Hi 👩‍🚀')).toEqual([{ role: 'user', content: 'Hi 👩‍🚀' }]);
  });

  it.each([
    ['Be short.', [{ role: 'system', content: 'Be short.' }]],
    ['', []],
    [undefined, []],
  ])('2: the instructions %j come first', async (systemInstructions, first) => {
    const part = systemInstructions === undefined ? {} : { systemInstructions };
    expect((await sent({ ...part, input: 'x' }))['messages']).toEqual([...first, { role: 'user', content: 'x' }]);
  });

  it('3: what a system and a developer say is of the system', async () => {
    const developer: AgentInputItem = JSON.parse('{"role":"developer","content":"B"}');
    expect(await messagesOf([{ role: 'system', content: 'A' }, developer])).toEqual([
      { role: 'system', content: 'A' },
      { role: 'system', content: 'B' },
    ]);
  });

  it('4: several texts are joined in order', async () => {
    expect(await messagesOf([user({ type: 'input_text', text: 'a' }, { type: 'input_text', text: 'b' })])).toEqual([
      { role: 'user', content: 'a\nb' },
    ]);
  });

  it.each([
    ['5: png', `data:image/png;base64,${PNG}`],
    ['5: jpeg', `data:image/jpeg;base64,${PNG}`],
    ['5: webp with parameters', `data:image/webp;charset=utf-8;base64,${PNG}`],
    ['6: a data URL without a type', `data:;base64,${PNG}`],
    ['7: bare base64', PNG],
    ['7: base64 in lines', `${PNG.slice(0, 8)}\n${PNG.slice(8)}`],
  ])('%s is an image of the same message', async (_what, data) => {
    expect(await messagesOf([user({ type: 'input_text', text: 'What?' }, image(data))])).toEqual([
      { role: 'user', content: 'What?', images: [PNG] },
    ]);
  });

  it.runIf(SLOW)('7: an image may be large', async () => {
    const large = 'A'.repeat(12_000_000);
    expect(await messagesOf([user(image(large))])).toEqual([{ role: 'user', content: '', images: [large] }]);
  });

  it.each([
    ['8: an address', image('https://example.com/a.png'), /input_image.*no addresses/],
    ['9: an uploaded image', image({ id: 'file-1' }), /input_image.*uploaded/],
    ['9: a file', { type: 'input_file', file: { id: 'file-1' } }, /input_file/],
    ['9: a part of another kind', { type: 'input_video', video: PNG }, /input_video/],
    ['10: an uploaded sound', { type: 'audio', audio: { id: 'file-1' } }, /audio.*uploaded/],
    ['94: no base64', image('%%%'), /input_image.*base64/],
    ['94: base64 that is cut', image('AAAAA'), /base64/],
    ['94: a data URL without data', image('data:image/png;base64,'), /base64/],
    ['94: a path', image('/etc/profile.'), /base64/],
  ])('%s is refused before anything is sent', async (_what, part, why) => {
    expect((await refusal({ input: [user(part)] })).message).toMatch(why);
  });

  it('10: a sound stands where images do', async () => {
    expect(await messagesOf([user({ type: 'audio', audio: PNG, format: 'wav' })])).toEqual([
      { role: 'user', content: '', images: [PNG] },
    ]);
  });

  it('23: emoji arrive whole, and a lone surrogate as valid UTF-8', async () => {
    let raw: Buffer = Buffer.alloc(0);
    const keeps: Answerer = (response, request) => {
      raw = request.bytes;
      return done('ok')(response, request);
    };
    await ask(keeps, { input: 'ü👩‍🚀 世界 a\ud800b' });
    const text = new TextDecoder('utf-8', { fatal: true }).decode(raw);
    expect(text).toContain('ü👩‍🚀 世界 a\\ud800b');
  });

  it('an image is never read from the file that its base64 happens to name', async () => {
    const name = `/tmp/hf${process.pid}`;
    const path = name.padEnd(Math.ceil(name.length / 4) * 4, 'A');
    await writeFile(path, 'private');
    try {
      expect(await messagesOf([user(image(path))])).toEqual([{ role: 'user', content: '', images: [path] }]);
    } finally {
      await rm(path);
    }
  });

  it('what only OpenAI can read is refused', async () => {
    const hosted: AgentInputItem = { type: 'hosted_tool_call', name: 'web_search_call' };
    expect((await refusal({ input: [hosted] })).message).toMatch(/hosted_tool_call/);
  });
});

describe('what was done', () => {
  it('11, 12: the text and the calls of one turn are one message', async () => {
    const input = [textItem('Let me look.'), callItem('a', { x: 1 }, 'c1'), callItem('b', {}, 'c2')];
    expect(await messagesOf(input)).toEqual([
      {
        role: 'assistant',
        content: 'Let me look.',
        tool_calls: [call('a', { x: 1 }, 0, 'c1'), call('b', {}, 1, 'c2')],
      },
    ]);
  });

  it('12: calls that follow each other are one message, numbered', async () => {
    const input = ['c1', 'c2', 'c3'].map((id) => callItem('a', {}, id));
    expect(await messagesOf(input)).toEqual([
      { role: 'assistant', content: '', tool_calls: ['c1', 'c2', 'c3'].map((id, at) => call('a', {}, at, id)) },
    ]);
  });

  it.each([
    ['13: JSON', '{"a":{"b":[1]}}', { a: { b: [1] } }],
    ['13: JSON in a text', JSON.stringify('{"a":1}'), { a: 1 }],
    ['14: nothing', '', {}],
    ['14: blanks', ' \n', {}],
  ])('%s in the arguments of an earlier call is an object', async (_what, text, object) => {
    expect(await argumentsSent(text)).toEqual(object);
  });

  it.each(['{"a":1}{"b":2}', '[1]', '{"a":', 'null'])(
    '15, 93: the arguments %j are kept under a marker, and the answer says so',
    async (text) => {
      expect(await argumentsSent(text)).toEqual({ unparsed_arguments: text });
      const { response } = await ask(done('ok'), { input: [withArguments(text), resultItem('c1', 'a', 'no')] });
      expect(response.providerData?.['warnings']).toEqual([expect.stringContaining('c1 of a')]);
    },
  );

  it('16, 97: a result carries the name and the id of its call', async () => {
    expect(await messagesOf([callItem('a', {}, 'c1'), resultItem('c1', 'a', 'ok')])).toEqual([
      { role: 'assistant', content: '', tool_calls: [call('a', {}, 0, 'c1')] },
      { role: 'tool', content: 'ok', tool_name: 'a', tool_call_id: 'c1' },
    ]);
  });

  it('17: a result without a name has that of the last call with its id', async () => {
    const input = [callItem('old', {}, 'c1'), callItem('new', {}, 'c1'), resultItem('c1', '', 'x')];
    expect(await messagesOf(input)).toEqual([
      expect.anything(),
      { role: 'tool', content: 'x', tool_name: 'new', tool_call_id: 'c1' },
    ]);
  });

  it.each([
    ['a data URL', { type: 'input_image', image: `data:image/png;base64,${PNG}` }],
    ['bytes', { type: 'image', image: { data: new Uint8Array(Buffer.from(PNG, 'base64')), mediaType: 'image/png' } }],
    ['base64', { type: 'image', image: { data: PNG } }],
  ])('18: the image of a result is on its message: %s', async (_what, part) => {
    const output = JSON.parse('[]').concat({ type: 'input_text', text: 'chart' }, part);
    expect(await messagesOf([resultItem('c1', 'a', output)])).toEqual([
      { role: 'tool', content: 'chart', images: [PNG], tool_name: 'a', tool_call_id: 'c1' },
    ]);
  });

  it('18: images of results are moved behind the last of them, where a model wants that', async () => {
    const picture = [{ type: 'input_image' as const, image: PNG }];
    const input = [
      resultItem('c1', 'a', picture),
      resultItem('c2', 'a', 'x'),
      { role: 'user' as const, content: 'And?' },
    ];
    expect(await messagesOf(input, { toolImages: 'user' })).toEqual([
      { role: 'tool', content: '', tool_name: 'a', tool_call_id: 'c1' },
      { role: 'tool', content: 'x', tool_name: 'a', tool_call_id: 'c2' },
      { role: 'user', content: expect.any(String), images: [PNG] },
      { role: 'user', content: 'And?' },
    ]);
  });

  it('18: images of results that are moved stand behind the call that gave them', async () => {
    const picture = [{ type: 'input_image' as const, image: PNG }];
    const input = [
      ...[callItem('a', {}, 'c1'), callItem('a', {}, 'c2')],
      ...[resultItem('c1', 'a', picture), resultItem('c2', 'a', picture)],
      ...[callItem('a', {}, 'c3'), resultItem('c3', 'a', 'x')],
    ];
    const messages = JSON.parse(JSON.stringify(await messagesOf(input, { toolImages: 'user' })));
    const shape = messages.map((one: Body) => [one['role'], [one['images']].flat().filter(Boolean).length]);
    expect(shape).toEqual([
      ...[
        ['assistant', 0],
        ['tool', 0],
        ['tool', 0],
        ['user', 2],
      ],
      ...[
        ['assistant', 0],
        ['tool', 0],
      ],
    ]);
  });

  it.each([
    ['19: an empty text', '', ''],
    ['19: no part', JSON.parse('[]'), ''],
    ['20: a text part', JSON.parse('{"type":"text","text":"x"}'), 'x'],
    ['20: several texts', JSON.parse('[{"type":"input_text","text":"x"},{"type":"input_text","text":"y"}]'), 'x\ny'],
    ['20: any object', JSON.parse('{"sum":{"n":1}}'), '{"sum":{"n":1}}'],
  ])('%s as a result', async (_what, output, content) => {
    expect(await messagesOf([resultItem('c1', 'a', output)])).toEqual([
      { role: 'tool', content, tool_name: 'a', tool_call_id: 'c1' },
    ]);
  });

  it('21: thinking stands on the turn that it led to, and is dropped when it led to nothing', async () => {
    const thanks: AgentInputItem = { role: 'user', content: 'Thanks' };
    const first = [thinks('one'), thinks('two'), callItem('a', {}, 'c1'), resultItem('c1', 'a', 'ok')];
    expect(await messagesOf([...first, thinks('three'), textItem('Done.'), thinks('lost'), thanks])).toEqual([
      { role: 'assistant', content: '', thinking: 'one\ntwo', tool_calls: [call('a', {}, 0, 'c1')] },
      { role: 'tool', content: 'ok', tool_name: 'a', tool_call_id: 'c1' },
      { role: 'assistant', content: 'Done.', thinking: 'three' },
      { role: 'user', content: 'Thanks' },
    ]);
  });

  it('22: the results of two calls of one tool are told apart by id', async () => {
    const calls = [callItem('a', { n: 1 }, 'c1'), callItem('a', { n: 2 }, 'c2')];
    const results = [resultItem('c2', 'a', 'two'), resultItem('c1', 'a', 'one')];
    expect(await messagesOf([...calls, ...results])).toEqual([
      expect.anything(),
      { role: 'tool', content: 'two', tool_name: 'a', tool_call_id: 'c2' },
      { role: 'tool', content: 'one', tool_name: 'a', tool_call_id: 'c1' },
    ]);
  });

  it('two answers are kept apart', async () => {
    expect(await messagesOf([textItem('a'), textItem('b')])).toMatchObject([{ content: 'a' }, { content: 'b' }]);
  });

  it('99: nothing of the provider goes back with an item', async () => {
    const providerData = { tool_calls: [{ id: 'c9' }] };
    const items = [textItem('a'), callItem('b', {}, 'c1')].map((item) => ({ ...item, providerData }));
    await using server = await wireServer(done('ok'));
    const request: ModelRequest = requestOf({ input: items });
    await new OllamaModel('test', { baseURL: server.url }).getResponse(request);
    expect(server.received[0]?.body['messages']).toEqual([
      { role: 'assistant', content: 'a', tool_calls: [call('b', {}, 0, 'c1')] },
    ]);
  });
});
