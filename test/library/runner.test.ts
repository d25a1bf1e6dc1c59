import { Agent, type RunContext, tool } from '@openai/agents';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { HoldfastRunner } from '../../src/index.js';
import { createEngineDatabase, describeEachDatabase, type TestDatabase } from '../harness/database.js';
import { ADMIN } from '../harness/engine.js';
import { call, say, scripted } from '../harness/script.js';

describeEachDatabase('HoldfastRunner', (kind) => {
  const paid: string[] = [];
  const pay = tool({
    name: 'pay',
    description: 'Pays someone.',
    parameters: z.object({ to: z.string() }),
    needsApproval: true,
    execute: ({ to }) => {
      paid.push(to);
      return 'paid';
    },
  });
  const payer = new Agent({
    name: 'payer',
    model: scripted([[call('pay', { to: 'ann' }, 'p1')], [say('Done.')]]),
    tools: [pay],
  });
  const greeter = new Agent({
    name: 'greeter',
    model: scripted([[say('Hello.')]]),
    instructions: ({ context }: RunContext<{ name: string }>) => `Greet ${context.name}.`,
  });
  const counter = new Agent({
    name: 'counter',
    model: scripted([[say('{"count":3}')]]),
    outputType: z.object({ count: z.number() }),
  });

  let database: TestDatabase;
  let runner: HoldfastRunner;
  beforeAll(async () => {
    database = await createEngineDatabase(kind);
    runner = new HoldfastRunner({ ...database.options });
  });
  afterAll(async () => {
    await runner.stop();
    await database.drop();
  });

  test('gives the output and the history of a run, which begin the next', async () => {
    const first = await runner.run(greeter, 'Hi', { context: { name: 'Ada' } });
    expect(first.finalOutput).toBe('Hello.');
    expect(first.history).toMatchObject([{ role: 'user', content: 'Hi' }, { role: 'assistant' }]);
    const input = [...first.history, { role: 'user' as const, content: 'Again' }];
    const second = await runner.run(greeter, input, { context: { name: 'Ada' } });
    expect(second.history).toHaveLength(4);
    expect(second.newItems).toEqual([{ type: 'message_output_item', rawItem: second.history[3], content: 'Hello.' }]);
  });

  test('refuses by name what it cannot run, and begins nothing of what was aborted', async () => {
    const run = (agent: unknown, input: unknown, options?: unknown) =>
      runner.run(agent as typeof greeter, input as string, options as object);
    for (const input of [undefined, null, 5, {}, [null], ['a text']])
      await expect(run(greeter, input), String(input)).rejects.toMatchObject({
        code: 'invalid_request',
        message: expect.stringContaining('/input'),
      });
    for (const context of [5, [], { n: 10n }])
      await expect(run(greeter, 'Hi', { context })).rejects.toMatchObject({
        code: 'invalid_request',
        message: expect.stringContaining('/context'),
      });
    for (const [options, pointer] of [
      ...['', 'é', 'a b', 'x'.repeat(194), 5, null].map((id) => [{ id }, '/id'] as const),
      [{ signal: 5 }, '/signal'],
    ] as const)
      await expect(run(greeter, 'Hi', options), JSON.stringify(options)).rejects.toMatchObject({
        ...{ code: 'invalid_request', fields: [{ pointer }] },
      });
    await expect(run(undefined, 'Hi')).rejects.toMatchObject({ code: 'invalid_request' });
    const count = () =>
      runner.withEngine(async (engine) => (await engine.listRuns({ limit: 100 }, ADMIN)).items.length);
    const before = await count();
    await expect(run(greeter, 'Hi', { signal: AbortSignal.abort('enough') })).rejects.toBe('enough');
    expect(await count()).toBe(before);
  });

  test('learns another agent between runs, and parses its output', async () => {
    const { finalOutput } = await runner.run(counter, 'Count');
    expect(finalOutput?.count).toBe(3);
  });

  test('pauses for an approval, which the next call sends, also to another runner', async () => {
    const paused = await runner.run(payer, 'Pay Ann', { id: 'pay-1' });
    expect(paused.finalOutput).toBeUndefined();
    expect(paused.interruptions.map(({ name, rawItem }) => [name, rawItem.callId])).toEqual([['pay', 'p1']]);
    await runner.stop();
    const other = new HoldfastRunner({ ...database.options });
    const again = await other.run(payer, 'Pay Ann', { id: 'pay-1' });
    expect(again.runId).toBe(paused.runId);
    for (const one of again.interruptions) again.state.approve(one);
    expect((await other.run(payer, again.state)).finalOutput).toBe('Done.');
    expect(paid).toEqual(['ann']);
    await other.stop();
  });

  test('tells the model of a rejection', async () => {
    const paused = await runner.run(payer, 'Pay Ann', { id: 'pay-2' });
    for (const other of [{}, null, undefined])
      expect(() => paused.state.approve(other as never)).toThrow('an interruption of its result');
    for (const one of paused.interruptions) paused.state.reject(one, { message: 'Not today.' });
    expect(paused.newItems).toEqual([]);
    const { history, newItems } = await runner.run(payer, paused.state);
    expect(JSON.stringify(history)).toContain('Not today.');
    expect(newItems).toMatchObject([
      { type: 'tool_call_item', rawItem: { name: 'pay' } },
      { type: 'tool_call_output_item', output: { text: expect.stringContaining('Not today.') } },
      { type: 'message_output_item', content: 'Done.' },
    ]);
    expect(paid).toEqual(['ann']);
  });

  test('throws the error of a run that failed', async () => {
    const failing = runner.run(new Agent({ name: 'nameless', model: 'nowhere/none' }), 'go');
    await expect(failing).rejects.toMatchObject({ code: 'model_unknown', message: expect.stringContaining('failed') });
  });

  test('refuses what a durable run does not take, and an unknown agent amid a run', async () => {
    await expect(runner.run(greeter, 'Hi', { stream: true } as object)).rejects.toThrow('option stream');
    const during = runner.withEngine(() => runner.run(new Agent({ name: 'late', model: scripted([]) }), 'go'));
    await expect(during).rejects.toMatchObject({ code: 'agent_unknown' });
  });

  test('runs the others after an agent that no engine takes', async () => {
    const twice = new Agent({ name: 'twice', model: 'openai/x', handoffs: [counter, new Agent({ name: 'counter' })] });
    for (const bad of [twice, { name: 'none' } as unknown as Agent])
      await expect(runner.run(bad, 'x')).rejects.toMatchObject({ code: 'agent_invalid' });
    expect((await runner.run(counter, 'Count.')).finalOutput).toEqual({ count: 3 });
  });
});

test('refuses a configuration that no runner can have', () => {
  const agent = new Agent({ name: 'one', model: scripted([[say('x')]]) });
  const refused = (config: object) => {
    try {
      new HoldfastRunner(config);
      return null;
    } catch (error) {
      return (error as { readonly code?: string }).code ?? String(error);
    }
  };
  for (const idleMs of [-1, Number.NaN, '5', 2 ** 31])
    expect(refused({ idleMs }), String(idleMs)).toBe('config_invalid');
  for (const agents of [5, [null], ['one']]) expect(refused({ agents }), String(agents)).toBe('config_invalid');
  const double = new Agent({ name: 'one', model: scripted([[say('y')]]) });
  expect(refused({ agents: [agent, double] })).toBe('agent_invalid');
  expect(refused({ agents: [agent, { agent: double }] })).toBe('agent_invalid');
  expect(refused({ agents: [agent], idleMs: null })).toBeNull();
});
