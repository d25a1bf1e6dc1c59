import { type AgentInputItem, type ModelRequest, UserError } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { type OllamaRequestOptions, ollamaPlan } from '../../src/models/ollama-request.js';
import { callItem, requestOf, resultItem, textItem, weatherTool } from './requests.js';

const PNG = Buffer.from('not really a png').toString('base64');

const planOf = (part: Partial<ModelRequest>, options: OllamaRequestOptions = {}, model = 'test') =>
  ollamaPlan(model, requestOf(part), options);
const messagesOf = (input: ModelRequest['input'], options: OllamaRequestOptions = {}) =>
  planOf({ input }, options).request.messages;
const settingsOf = (modelSettings: ModelRequest['modelSettings'], options: OllamaRequestOptions = {}, model = 'test') =>
  planOf({ modelSettings }, options, model).request;
const user = (...content: object[]): AgentInputItem => JSON.parse(JSON.stringify({ role: 'user', content }));
const thought = (text: string): AgentInputItem => ({
  type: 'reasoning',
  content: [],
  rawContent: [{ type: 'reasoning_text', text }],
});
const call = (name: string, args: object, index: number, id: string) => ({
  id,
  function: { index, name, arguments: args },
});

describe('messages', () => {
  it('are one of the user for a text', () => {
    expect(messagesOf('Hi 👩‍🚀')).toEqual([{ role: 'user', content: 'Hi 👩‍🚀' }]);
  });

  it.each([
    ['Be short.', [{ role: 'system', content: 'Be short.' }]],
    ['', []],
    [undefined, []],
  ])('begin with the instructions %j', (systemInstructions, first) => {
    const part = systemInstructions === undefined ? {} : { systemInstructions };
    expect(planOf({ ...part, input: [] }).request.messages).toEqual(first);
  });

  it('of a system and of a developer are of the system', () => {
    const developer: AgentInputItem = JSON.parse('{"role":"developer","content":"B"}');
    expect(messagesOf([{ role: 'system', content: 'A' }, developer])).toEqual([
      { role: 'system', content: 'A' },
      { role: 'system', content: 'B' },
    ]);
  });

  it('join several texts', () => {
    expect(messagesOf([user({ type: 'input_text', text: 'a' }, { type: 'input_text', text: 'b' })])).toEqual([
      { role: 'user', content: 'a\nb' },
    ]);
  });

  it.each([
    ['a data URL', `data:image/png;base64,${PNG}`],
    ['a data URL with parameters', `data:image/webp;charset=utf-8;base64,${PNG}`],
    ['a data URL without a type', `data:;base64,${PNG}`],
    ['bare base64', PNG],
    ['base64 in lines', `${PNG.slice(0, 8)}\n${PNG.slice(8)}`],
  ])('carry an image that is %s', (_what, image) => {
    expect(messagesOf([user({ type: 'input_text', text: 'What?' }, { type: 'input_image', image })])).toEqual([
      { role: 'user', content: 'What?', images: [PNG] },
    ]);
  });

  it('carry a sound where images go', () => {
    expect(messagesOf([user({ type: 'audio', audio: PNG, format: 'wav' })])).toEqual([
      { role: 'user', content: '', images: [PNG] },
    ]);
  });

  it.each([
    ['an address', { type: 'input_image', image: 'https://example.com/a.png' }, /input_image.*no addresses/],
    ['an uploaded image', { type: 'input_image', image: { id: 'file-1' } }, /input_image.*uploaded/],
    ['no base64', { type: 'input_image', image: '%%%' }, /input_image.*base64/],
    ['a path', { type: 'input_image', image: '/etc/profile.' }, /base64/],
    ['a file', { type: 'input_file', file: { id: 'file-1' } }, /input_file/],
  ])('are refused with %s, before anything is sent', (_what, part, message) => {
    expect(() => messagesOf([user(part)])).toThrow(UserError);
    expect(() => messagesOf([user(part)])).toThrow(message);
  });

  it('put the text and the calls of one turn together', () => {
    const input = [textItem('Let me look.'), callItem('a', { x: 1 }, 'c1'), callItem('b', {}, 'c2')];
    expect(messagesOf(input)).toEqual([
      {
        role: 'assistant',
        content: 'Let me look.',
        tool_calls: [call('a', { x: 1 }, 0, 'c1'), call('b', {}, 1, 'c2')],
      },
    ]);
  });

  it('put thinking on the turn that it led to, and drop it when it led to nothing', () => {
    const input = [
      thought('one'),
      thought('two'),
      callItem('a', {}, 'c1'),
      resultItem('c1', 'a', 'ok'),
      thought('three'),
      textItem('Done.'),
      thought('lost'),
      { role: 'user' as const, content: 'Thanks' },
    ];
    expect(messagesOf(input)).toEqual([
      { role: 'assistant', content: '', thinking: 'one\ntwo', tool_calls: [call('a', {}, 0, 'c1')] },
      { role: 'tool', content: 'ok', tool_name: 'a', tool_call_id: 'c1' },
      { role: 'assistant', content: 'Done.', thinking: 'three' },
      { role: 'user', content: 'Thanks' },
    ]);
  });

  it('keep two answers apart', () => {
    expect(messagesOf([textItem('a'), textItem('b')]).map(({ content }) => content)).toEqual(['a', 'b']);
  });

  it('match the results of two calls of one tool by id', () => {
    const input = [
      callItem('a', { n: 1 }, 'c1'),
      callItem('a', { n: 2 }, 'c2'),
      resultItem('c2', 'a', 'two'),
      resultItem('c1', 'a', 'one'),
    ];
    expect(messagesOf(input).slice(1)).toEqual([
      { role: 'tool', content: 'two', tool_name: 'a', tool_call_id: 'c2' },
      { role: 'tool', content: 'one', tool_name: 'a', tool_call_id: 'c1' },
    ]);
  });

  it('find the name of a result by the last call of its id', () => {
    const input = [callItem('old', {}, 'c1'), callItem('new', {}, 'c1'), resultItem('c1', '', 'x')];
    expect(messagesOf(input).at(-1)).toMatchObject({ tool_name: 'new' });
  });

  it.each([
    ['', {}],
    ['{"a":{"b":[1]}}', { a: { b: [1] } }],
    [JSON.stringify('{"a":1}'), { a: 1 }],
  ])('give the arguments %j as an object', (args, object) => {
    const item = { ...callItem('a', {}, 'c1'), arguments: args };
    expect(messagesOf([item])[0]?.tool_calls?.[0]?.function.arguments).toEqual(object);
  });

  it.each(['{"a":1}{"b":2}', '[1]', '{"a":', 'null'])('keep the arguments %j under a marker, and say so', (args) => {
    const plan = planOf({ input: [{ ...callItem('a', {}, 'c1'), arguments: args }] });
    expect(plan.request.messages[0]?.tool_calls?.[0]?.function.arguments).toEqual({ unparsed_arguments: args });
    expect(plan.warnings).toEqual([expect.stringContaining('c1')]);
  });

  it.each([
    ['an empty text', '', ''],
    ['a text part', { type: 'text' as const, text: 'x' }, 'x'],
    [
      'texts',
      [
        { type: 'input_text' as const, text: 'x' },
        { type: 'input_text' as const, text: 'y' },
      ],
      'x\ny',
    ],
    ['any object', JSON.parse('{"sum":{"n":1}}'), '{"sum":{"n":1}}'],
  ])('give the result of a tool that is %s', (_what, output, content) => {
    expect(messagesOf([resultItem('c1', 'a', output)])[0]?.content).toBe(content);
  });

  it.each([
    ['a data URL', { type: 'input_image' as const, image: `data:image/png;base64,${PNG}` }],
    [
      'bytes',
      { type: 'image' as const, image: { data: new Uint8Array(Buffer.from(PNG, 'base64')), mediaType: 'image/png' } },
    ],
    ['base64', { type: 'image' as const, image: { data: PNG } }],
  ])('leave the image of a result on its message: %s', (_what, part) => {
    const output = JSON.parse('[]').concat({ type: 'input_text', text: 'chart' }, part);
    expect(messagesOf([resultItem('c1', 'a', output)])).toEqual([
      { role: 'tool', content: 'chart', images: [PNG], tool_name: 'a', tool_call_id: 'c1' },
    ]);
  });

  it('move the images of results behind the last of them, where a model wants that', () => {
    const image = [{ type: 'input_image' as const, image: PNG }];
    const input = [
      resultItem('c1', 'a', image),
      resultItem('c2', 'a', 'x'),
      { role: 'user' as const, content: 'And?' },
    ];
    expect(messagesOf(input, { toolImages: 'user' })).toEqual([
      { role: 'tool', content: '', tool_name: 'a', tool_call_id: 'c1' },
      { role: 'tool', content: 'x', tool_name: 'a', tool_call_id: 'c2' },
      { role: 'user', content: expect.any(String), images: [PNG] },
      { role: 'user', content: 'And?' },
    ]);
  });

  it('survive a lone surrogate as valid UTF-8', () => {
    const text = JSON.stringify(messagesOf('a\ud800b'));
    expect(Buffer.from(text, 'utf8').toString('utf8')).toBe(text);
  });

  it('are refused with what only OpenAI can read', () => {
    const hosted: AgentInputItem = { type: 'hosted_tool_call', name: 'web_search_call' };
    expect(() => messagesOf([hosted])).toThrow(/hosted_tool_call/);
  });
});

describe('tools', () => {
  const handoff: ModelRequest['handoffs'][number] = {
    toolName: 'transfer_to_support',
    toolDescription: 'Support.',
    inputJsonSchema: { type: 'object', properties: {}, required: [], additionalProperties: false },
    strictJsonSchema: true,
  };
  const namesIn = (part: Partial<ModelRequest>) => planOf(part).request.tools?.map((tool) => tool.function.name);

  it('are functions at the top level, their schema unchanged', () => {
    const parameters: object = {
      type: 'object',
      properties: { a: { anyOf: [{ $ref: '#/$defs/n' }, { type: ['string', 'null'] }] }, b: { enum: [1, null] } },
      $defs: { n: { oneOf: [{ type: 'number' }] } },
      additionalProperties: false,
    };
    const tool = { ...weatherTool, parameters: JSON.parse(JSON.stringify(parameters)) };
    const { request } = planOf({ tools: [tool], handoffs: [handoff] });
    expect(request.tools).toEqual([
      { type: 'function', function: { name: 'weather', description: 'The weather of a city.', parameters } },
      {
        type: 'function',
        function: { name: 'transfer_to_support', description: 'Support.', parameters: handoff.inputJsonSchema },
      },
    ]);
    expect(request.options).toBeUndefined();
  });

  it.each([undefined, JSON.parse('{"type":"object"}')])('without parameters %j can be called', (parameters) => {
    const { request } = planOf({ tools: [JSON.parse(JSON.stringify({ ...weatherTool, parameters }))] });
    expect(request.tools?.[0]?.function.parameters).toEqual({ type: 'object', properties: {} });
  });

  it('that run at OpenAI are named and refused', () => {
    const hosted: ModelRequest['tools'][number] = { type: 'hosted_tool', name: 'web_search' };
    expect(() => planOf({ tools: [weatherTool, hosted] })).toThrow(/web_search \(hosted_tool\)/);
  });

  it('without a name are refused', () => {
    expect(() => planOf({ handoffs: [{ ...handoff, toolName: '' }] })).toThrow(/no name/);
  });

  it('are not sent when none may be called', () => {
    const plan = planOf({ tools: [weatherTool], modelSettings: { toolChoice: 'none' } });
    expect(plan.request).not.toHaveProperty('tools');
  });

  it('are asked for in words when one must be called', () => {
    const other = { ...weatherTool, name: 'other' };
    const tools = [weatherTool, other];
    expect(namesIn({ tools, modelSettings: { toolChoice: 'required' } })).toEqual(['weather', 'other']);
    expect(namesIn({ tools, modelSettings: { toolChoice: 'other' } })).toEqual(['other']);
    const plan = planOf({ tools, modelSettings: { toolChoice: 'other' } });
    expect(plan.required).toEqual(['other']);
    expect(plan.request.messages.at(-1)).toMatchObject({ role: 'system', content: expect.stringContaining('other') });
  });

  it.each(['nowhere', 'required'])('cannot be chosen when there is none: %s', (toolChoice) => {
    expect(() => planOf({ modelSettings: { toolChoice } })).toThrow(/toolChoice/);
  });
});

describe('settings', () => {
  it('are not sent unless they are set', () => {
    expect(settingsOf({})).toEqual({ model: 'test', messages: [{ role: 'user', content: 'Hello' }] });
  });

  it('go to options under the names of Ollama, 0 included', () => {
    const request = settingsOf({
      temperature: 0,
      topP: 0.5,
      frequencyPenalty: 0.1,
      presencePenalty: 0.2,
      maxTokens: 9,
      providerData: { seed: 7, stop: ['END'], top_k: 40, options: { num_gpu: 0 } },
    });
    expect(request.options).toEqual({
      temperature: 0,
      top_p: 0.5,
      frequency_penalty: 0.1,
      presence_penalty: 0.2,
      num_predict: 9,
      seed: 7,
      stop: ['END'],
      top_k: 40,
      num_gpu: 0,
    });
    expect(Object.keys(request).sort()).toEqual(['messages', 'model', 'options']);
  });

  it('of the provider are defaults', () => {
    const options = { numCtx: 8192, keepAlive: '10m', options: { top_k: 1 } };
    expect(settingsOf({}, options)).toMatchObject({ keep_alive: '10m', options: { num_ctx: 8192, top_k: 1 } });
    expect(settingsOf({ providerData: { keep_alive: 5, num_ctx: 99, top_k: 2 } }, options)).toMatchObject({
      keep_alive: 5,
      options: { num_ctx: 99, top_k: 2 },
    });
  });

  it.each([0, -1, '10m'])('keep a model loaded for %j', (keepAlive) => {
    expect(settingsOf({}, { keepAlive }).keep_alive).toBe(keepAlive);
  });

  it.each([
    [undefined, undefined],
    [null, undefined],
    ['none', false],
    ['minimal', 'low'],
    ['low', 'low'],
    ['medium', 'medium'],
    ['high', 'high'],
    ['xhigh', 'max'],
    ['max', 'max'],
  ] as const)('think with the effort %j as %j', (effort, think) => {
    expect(settingsOf({ reasoning: effort === undefined ? {} : { effort } }).think).toBe(think);
  });

  it('refuse an effort that nobody knows', () => {
    expect(() => settingsOf(JSON.parse('{"reasoning":{"effort":"extreme"}}'))).toThrow(/extreme/);
  });

  it.each([
    ['gpt-oss:20b', true, 'medium'],
    ['gpt-oss', false, 'low'],
    ['org/gpt-oss-safeguard:20b', true, 'medium'],
    ['gpt-oss:20b', 'high', 'high'],
    ['qwen3', true, true],
  ])('let %s think with %j as %j', (model, think, sent) => {
    expect(settingsOf({}, { think }, model).think).toBe(sent);
  });

  it('remember who wants a model to think', () => {
    expect(planOf({}, { think: true }).thinkIsDefault).toBe(true);
    expect(planOf({ modelSettings: { reasoning: { effort: 'low' } } }, { think: true }).thinkIsDefault).toBe(false);
    expect(planOf({ modelSettings: { providerData: { think: true } } }).thinkIsDefault).toBe(false);
  });

  it.each([0, 20])('pass on %i probabilities', (top_logprobs) => {
    expect(settingsOf({ providerData: { top_logprobs } })).toMatchObject({ logprobs: true, top_logprobs });
  });

  it.each([
    { top_logprobs: 21 },
    { top_logprobs: -1 },
    { keep_alive: {} },
    { model: 'x' },
    { stream: false },
    { messages: [] },
  ])('refuse %j', (providerData) => {
    expect(() => settingsOf({ providerData })).toThrow(UserError);
  });

  it.each([{ previousResponseId: 'r' }, { conversationId: 'c' }, { prompt: { promptId: 'p' } }])(
    'refuse what only OpenAI keeps: %j',
    (part) => {
      expect(() => planOf(part)).toThrow(Object.keys(part)[0] ?? '');
    },
  );

  it('do not let a long prompt be cut in silence', () => {
    const long = { input: 'x'.repeat(4_000) };
    const cut = planOf(long, { numCtx: 100 });
    expect(cut.request.truncate).toBe(false);
    expect(cut.warnings).toEqual([expect.stringMatching(/more than the context of 100/)]);
    expect(planOf(long, { numCtx: 8_000 }).request).not.toHaveProperty('truncate');
    expect(planOf({ ...long, modelSettings: { truncation: 'auto' } }, { numCtx: 100 }).request).not.toHaveProperty(
      'truncate',
    );
    expect(planOf({ modelSettings: { truncation: 'disabled' } }).request.truncate).toBe(false);
  });
});

describe('the form of the answer', () => {
  const schema = {
    type: 'object',
    properties: { n: { type: 'number' } },
    required: ['n'],
    additionalProperties: false,
  };
  const outputType: ModelRequest['outputType'] = JSON.parse(
    JSON.stringify({ type: 'json_schema', name: 'out', strict: true, schema }),
  );

  it('is sent as the schema', () => {
    expect(planOf({ outputType })).toMatchObject({ request: { format: schema }, finalFormat: null });
  });

  it('can be any JSON', () => {
    expect(settingsOf({ providerData: { format: 'json' } }).format).toBe('json');
  });

  it('is held back while tools are offered, which it would prevent from being called', () => {
    const plan = planOf({ outputType, tools: [weatherTool] });
    expect(plan.request).not.toHaveProperty('format');
    expect(plan.finalFormat).toEqual(schema);
  });
});
