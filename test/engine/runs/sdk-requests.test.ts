import { Agent, assistant, type ModelRequest, Runner, system, tool, user } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, functionModel } from '../../../src/index.js';
import { knowSecret } from '../../../src/models/secrets/known-secrets.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, engineFor, restOf } from '../../harness/engine.js';
import { call, outputAfter, say } from '../../harness/script.js';

/** What models are sent in a run is what the SDK's own `run()` sends, byte for byte. */

const bytes = Uint8Array.from({ length: 40 }, (_, index) => index);
const cyclic: Record<string, unknown> = { name: 'loop' };
cyclic['self'] = cyclic;

const SECRET = 'sk-held-"0123456789abcdefgh';
knowSecret(SECRET);

const OUTPUTS: Readonly<Record<string, () => unknown>> = {
  text: () => ' {"b": 1} ',
  unsorted: () => ({ zebra: 1, apple: { b: [2, { d: 1, c: null }], a: true } }),
  numbered: () => ({ 10: 'ten', 9: 'nine', b: 1, a: 2 }),
  nothing: () => undefined,
  null: () => null,
  holes: () => ({ b: undefined, a: [undefined, 1] }),
  big: () => 12345678901234567890n,
  big_inside: () => ({ amount: 5n }),
  not_a_number: () => Number.NaN,
  large_number: () => 1e21,
  date: () => new Date(0),
  map: () => new Map([['a', 1]]),
  bytes: () => bytes,
  bytes_inside: () => ({ name: 'photo', data: bytes }),
  buffer: () => ({ z: 1, data: Buffer.from('holdfast') }),
  cyclic: () => cyclic,
  image: () => ({ type: 'image', image: { data: bytes, mediaType: 'image/png' }, detail: 'low' }),
  image_url: () => ({ type: 'image', image: 'https://pictures.example/1.png' }),
  file: () => ({ type: 'file', file: { data: bytes, mediaType: 'application/pdf', filename: 'a.pdf' } }),
  parts: () => [
    { type: 'text', text: 'Look:' },
    { type: 'image', image: { data: bytes, mediaType: 'image/png' } },
  ],
  empty_part: () => ({ type: 'image', b: 1, a: 2 }),
  empty_list: () => [],
  lone: () => 'a\ud800b',
};

const names = Object.keys(OUTPUTS);

/** An agent that calls every tool, and where its model writes down what it is sent. */
function asker(name: string) {
  const seen: ModelRequest['input'][] = [];
  const calls = [names.map((one) => call(one, {}, `c_${one}`)), [say('done')]];
  const model = functionModel('asker', async ({ input }) => {
    seen.push(structuredClone(input));
    return outputAfter(calls, input);
  });
  const tools = names.map((one) =>
    tool({ name: one, description: one, parameters: z.object({}), execute: async () => OUTPUTS[one]?.() }),
  );
  return { agent: new Agent({ name, model, tools }), seen };
}

const alone = asker('alone');
const held = asker('held');

const later: unknown[] = [];
const behaving = (name: string, said: unknown[]) =>
  new Agent({
    name,
    model: functionModel('once', async () => [call('unsorted', {}, 'c1')]),
    tools: alone.agent.tools,
    toolUseBehavior: async (_context, results) => {
      said.push(results.map((one) => (one.type === 'function_output' ? JSON.stringify(one.output) : null)));
      return { isFinalOutput: true, isInterrupted: undefined, finalOutput: 'ended' };
    },
  });

const HUGE = 'x'.repeat(300_000);
const hugeAgent = (name: string) =>
  new Agent({
    name,
    model: functionModel('huge', async ({ input }) => outputAfter([[call('huge', {}, 'c1')], [say('read')]], input)),
    tools: [
      tool({
        name: 'huge',
        description: 'Gives much.',
        parameters: z.object({}),
        execute: async () => ({ z: HUGE, a: 1 }),
      }),
    ],
  });

const conversation: ModelRequest['input'][] = [];
const spilling = new Agent({
  name: 'spilling',
  model: functionModel('spilling', async ({ input }) => outputAfter([[call('spill', {}, 'c1')], [say('read')]], input)),
  tools: [
    tool({
      ...{ name: 'spill', description: 'Tells.', parameters: z.object({}) },
      execute: async () => ({ key: SECRET, a: [1] }),
    }),
  ],
});

const listener = new Agent({
  name: 'listener',
  model: functionModel('listener', async ({ input }) => {
    conversation.push(structuredClone(input));
    return [say('heard')];
  }),
});

const resultsIn = (input: ModelRequest['input'] | undefined) =>
  (Array.isArray(input) ? input : []).flatMap((item) =>
    item.type === 'function_call_result' ? [{ name: item.name, output: item.output }] : [],
  );

describeEachDatabase('requests of runs and of the SDK', (kind) => {
  const ofRun: unknown[] = [];
  const test = engineFor(kind, {
    agents: [
      defineAgent({ agent: held.agent, grants: ['tool:call:*'] }),
      defineAgent({ agent: behaving('behaving', ofRun), grants: ['tool:call:*'] }),
      defineAgent({ agent: hugeAgent('bounded'), grants: ['tool:call:*'] }),
      defineAgent({
        agent: hugeAgent('raised'),
        grants: ['tool:call:*'],
        plainTools: { maxOutputBytes: 1_000_000 },
      }),
      defineAgent({ agent: listener }),
      defineAgent({ agent: spilling, grants: ['tool:call:*'] }),
    ],
  });

  const ended = async (agent: string): Promise<string> => {
    const { id } = await test.engine.startRun({ agent, input: 'go' }, ADMIN);
    await restOf(test.engine, id);
    return id;
  };
  const finished = z.object({ tool: z.string(), outcome: z.unknown() });
  const outcomes = async (id: string, name: string): Promise<unknown[]> => {
    const { items } = await test.engine.listEvents(id, { after: 0, limit: 200 }, ADMIN);
    const ends = items.filter(({ kind: one }) => one === 'call.finished').map(({ data }) => finished.parse(data));
    return ends.filter((one) => one.tool === name).map(({ outcome }) => outcome);
  };

  it('outputs of plain tools reach the model as the SDK sends them', async () => {
    const runner = new Runner({ tracingDisabled: true });
    await runner.run(alone.agent, 'go', { maxTurns: 100 });
    const { id } = await test.engine.startRun({ agent: 'held', input: 'go' }, ADMIN);
    expect(await restOf(test.engine, id)).toMatchObject({ status: 'completed', output: 'done' });
    const [sent, expected] = [resultsIn(held.seen.at(-1)), resultsIn(alone.seen.at(-1))];
    expect(sent.map(({ name }) => name)).toEqual(names);
    const wellFormed = (value: unknown): string => JSON.stringify(value).replaceAll('\\ud800', '\ufffd');
    for (const [at, one] of expected.entries()) expect(JSON.stringify(sent[at])).toBe(wellFormed(one));
    expect(await test.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
    expect(await test.engine.replayRun(id, {}, ADMIN)).toMatchObject({ differences: [] });
  });

  it('the log has canonical JSON, and beside it the text of a model where that is another one', async () => {
    expect(await outcomes(await ended('held'), 'unsorted')).toEqual([
      {
        type: 'output',
        output: { apple: { a: true, b: [2, { c: null, d: 1 }] }, zebra: 1 },
        text: '{"zebra":1,"apple":{"b":[2,{"d":1,"c":null}],"a":true}}',
      },
    ]);
  });

  it('toolUseBehavior gets objects with members in their order', async () => {
    later.length = 0;
    await new Runner({ tracingDisabled: true }).run(behaving('plainly', later), 'go');
    const { id } = await test.engine.startRun({ agent: 'behaving', input: 'go' }, ADMIN);
    expect(await restOf(test.engine, id)).toMatchObject({ status: 'completed', output: 'ended' });
    expect(ofRun).toEqual(later);
  });

  it('plainTools.maxOutputBytes raises the bound of outputs', async () => {
    expect(await outcomes(await ended('bounded'), 'huge')).toMatchObject([
      { type: 'error', code: 'payload_too_large' },
    ]);
    expect(await outcomes(await ended('raised'), 'huge')).toMatchObject([{ type: 'output', output: { a: 1 } }]);
  });

  it('the text of an output has no secret, and stays JSON', async () => {
    const [outcome] = await outcomes(await ended('spilling'), 'spill');
    expect(JSON.stringify(outcome)).not.toContain('0123456789');
    expect(JSON.parse(z.object({ text: z.string() }).parse(outcome).text)).toMatchObject({ a: [1] });
  });

  it('startRun takes items that the SDK makes', async () => {
    const input = [system('Be kind.'), user('Hello'), assistant('Hi'), user('Bye')];
    await new Runner({ tracingDisabled: true }).run(listener, input);
    const { id } = await test.engine.startRun({ agent: 'listener', input }, ADMIN);
    expect(await restOf(test.engine, id)).toMatchObject({ status: 'completed', output: 'heard' });
    expect(JSON.parse(JSON.stringify(conversation[1]))).toEqual(JSON.parse(JSON.stringify(conversation[0])));
  });
});
