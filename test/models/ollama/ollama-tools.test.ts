import { Agent, handoff, type ModelRequest, Runner } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { OllamaModel } from '../../../src/models/ollama/ollama-model.js';
import { weatherTool } from '../requests.js';
import { chunk, lastChunk, says, toolCall } from '../servers/ollama-server.js';
import { status, wireServer } from '../servers/wire-server.js';
import { ask, callsIn, done, failing, message, refusal, sent, textsIn } from './ask-ollama.js';

/** The numbers are those of the cases that a model of Ollama must hold. */

const transfer: ModelRequest['handoffs'][number] = {
  toolName: 'transfer_to_support',
  toolDescription: 'Support.',
  inputJsonSchema: { type: 'object', properties: {}, required: [], additionalProperties: false },
  strictJsonSchema: true,
};
const PARAMETERS = 'parameters' in weatherTool ? weatherTool.parameters : null;
const toolsOf = async (part: Partial<ModelRequest>) => (await sent(part))['tools'];
const other = { ...weatherTool, name: 'other' };
const calls = (...names: string[]) => says(lastChunk({}, { tool_calls: names.map((name) => toolCall(name, {})) }));

describe('what a model may call', () => {
  it('24, 27: functions and handoffs are tools', async () => {
    expect(await toolsOf({ tools: [weatherTool], handoffs: [transfer] })).toEqual([
      {
        type: 'function',
        function: { name: 'weather', description: 'The weather of a city.', parameters: PARAMETERS },
      },
      {
        type: 'function',
        function: { name: 'transfer_to_support', description: 'Support.', parameters: transfer.inputJsonSchema },
      },
    ]);
  });

  it('27: the handoffs of an agent arrive at the server', async () => {
    await using server = await wireServer(done('ok'));
    const model = new OllamaModel('test', { baseURL: server.url });
    const support = new Agent({ name: 'Support', model });
    const agent = new Agent({ name: 'Front', model, handoffs: [handoff(support)] });
    await new Runner({ tracingDisabled: true }).run(agent, 'Hi');
    expect(server.received[0]?.body['tools']).toMatchObject([{ function: { name: 'transfer_to_Support' } }]);
  });

  it.each([undefined, JSON.parse('{"type":"object"}')])(
    '25: a tool without parameters (%j) can be called',
    async (parameters) => {
      const tool = JSON.parse(JSON.stringify({ ...weatherTool, parameters }));
      expect(await toolsOf({ tools: [tool] })).toMatchObject([
        { function: { parameters: { type: 'object', properties: {} } } },
      ]);
      const { response } = await ask(calls('weather'), { tools: [tool] });
      expect(callsIn(response)).toMatchObject([{ name: 'weather', arguments: '{}' }]);
    },
  );

  it('26: every part of a JSON schema goes through unchanged', async () => {
    const parameters = {
      type: 'object',
      properties: {
        a: { anyOf: [{ $ref: '#/$defs/n' }, { type: ['string', 'null'] }] },
        b: { enum: [1, null], nullable: true },
      },
      $defs: { n: { oneOf: [{ type: 'number' }] } },
      additionalProperties: false,
    };
    const tool = { ...weatherTool, parameters: JSON.parse(JSON.stringify(parameters)) };
    expect(await toolsOf({ tools: [tool] })).toMatchObject([{ function: { parameters } }]);
  });

  it.each([
    { type: 'hosted_tool', name: 'web_search' },
    { type: 'computer', name: 'computer_use_preview' },
    { type: 'shell', name: 'shell' },
    { type: 'apply_patch', name: 'apply_patch' },
  ])('28: a tool that runs elsewhere is named and refused: $type', async (hosted) => {
    const tools = [weatherTool, JSON.parse(JSON.stringify(hosted))];
    expect((await refusal({ tools })).message).toContain(`${hosted.name} (${hosted.type})`);
  });

  it.each([
    ['a handoff without a name', { handoffs: [{ ...transfer, toolName: '' }] }, /handoff "Support\."/],
    ['a handoff without a schema', { handoffs: [JSON.parse('{"toolName":"t","inputJsonSchema":"x"}')] }, /handoff "t"/],
    ['a tool without a name', { tools: [{ ...weatherTool, name: '' }] }, /tool "The weather/],
  ])('96: %s is named and refused', async (_what, part, why) => {
    expect((await refusal(part)).message).toMatch(why);
  });

  it('29: with the choice none nothing is offered', async () => {
    expect(await sent({ tools: [weatherTool], modelSettings: { toolChoice: 'none' } })).not.toHaveProperty('tools');
  });

  it.each([
    ['required', ['weather', 'other']],
    ['other', ['other']],
  ])('29: with the choice %s the tools are offered alone and asked for in words', async (toolChoice, names) => {
    const body = await sent({ tools: [other, weatherTool].reverse(), modelSettings: { toolChoice } });
    expect(body['tools']).toMatchObject(names.map((name) => ({ function: { name } })));
    expect(body['messages']).toEqual([
      { role: 'user', content: 'Hello' },
      { role: 'system', content: expect.stringContaining(names.join(', ')) },
    ]);
  });

  it.each([
    ['required', done('No.'), /told to call weather or other, and called nothing/],
    ['other', calls('weather'), /told to call other, and called weather/],
  ])('29: with the choice %s another answer is an error', async (toolChoice, answer, why) => {
    const { whole, streamed } = await failing(answer, { tools: [weatherTool, other], modelSettings: { toolChoice } });
    for (const error of [whole, streamed]) {
      expect(error).toMatchObject({ name: 'ModelBehaviorError', message: expect.stringMatching(why) });
    }
  });

  it.each(['nowhere', 'required'])('29: the choice %s without such a tool is refused', async (toolChoice) => {
    expect((await refusal({ modelSettings: { toolChoice } })).message).toMatch(/toolChoice/);
  });

  it('30: only the first call is kept when calls must not be parallel, and the answer says so', async () => {
    const { response } = await ask(calls('weather', 'other'), {
      tools: [weatherTool, other],
      modelSettings: { parallelToolCalls: false },
    });
    expect(callsIn(response).map(({ name }) => name)).toEqual(['weather']);
    expect(response.providerData?.['warnings']).toEqual([expect.stringMatching(/dropped: other/)]);
  });

  it('31: tools stand at the top, never in options', async () => {
    const body = await sent({ tools: [weatherTool], modelSettings: { temperature: 0 } });
    expect(body).toMatchObject({ tools: [{}], options: { temperature: 0 } });
    expect(body['options']).toEqual({ temperature: 0 });
  });
});

describe('a form, beside tools', () => {
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

  it('40: is asked for a second time, without the tools', async () => {
    const { response, bodies } = await ask([done('It is 3.'), done('{"n":3}')], part);
    expect(response.output).toEqual([message('{"n":3}')]);
    expect(response.usage).toMatchObject({ requests: 2, inputTokens: 22, totalTokens: 36 });
    const [first, second] = bodies;
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

  it('40: streams only the answer that counts, once', async () => {
    const parts = says(chunk({ content: '{"n":' }), lastChunk({}, { content: '3}' }));
    const { events } = await ask([done('It is 3.'), parts], part);
    expect(textsIn(events)).toEqual(['{"n":', '3}']);
    expect(events.filter(({ type }) => type === 'response_started')).toHaveLength(1);
  });

  it.each([
    ['schema', { outputType }],
    ['any JSON', { modelSettings: { providerData: { format: 'json' } } }],
  ])('40: takes an answer that has the form as it is: %s', async (_what, form) => {
    const parts = says(chunk({ content: '{"n"' }), lastChunk({}, { content: ':3}' }));
    const { events, bodies } = await ask([parts, status(500, '')], { ...form, tools: [weatherTool] });
    expect(textsIn(events)).toEqual(['{"n":3}']);
    expect(bodies[0]).not.toHaveProperty('format');
  });

  it('40: any JSON is asked for a second time too', async () => {
    const { bodies } = await ask([done('It is 3.'), done('[3]')], {
      tools: [weatherTool],
      modelSettings: { providerData: { format: 'json' } },
    });
    expect(bodies.map(({ format }) => format)).toEqual([undefined, 'json']);
  });

  it('40: waits while the model calls tools', async () => {
    const calling = says(lastChunk({}, { content: 'I look.', tool_calls: [toolCall('weather', { city: 'Oslo' })] }));
    const { response } = await ask([calling, status(500, '')], part);
    expect(response.output.map(({ type }) => type)).toEqual(['message', 'function_call']);
  });
});
