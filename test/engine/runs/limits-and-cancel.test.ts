import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, functionModel } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, engineFor, kindsOf, restOf, runToRest } from '../../harness/engine.js';
import { call, resultsIn, say, scripted } from '../../harness/script.js';

const aborted: string[] = [];

const forever = (signal: AbortSignal | undefined, name: string): Promise<never> =>
  new Promise((_, reject) => {
    signal?.addEventListener('abort', () => {
      aborted.push(name);
      reject(new Error('aborted'));
    });
  });

const step = defineTool({
  name: 'step',
  description: 'Goes on.',
  input: z.object({ n: z.number() }),
  output: z.string(),
  effect: 'pure',
  execute: ({ n }) => `step ${n}`,
});
const hang = (name: string, effect: 'pure' | 'unsafe') =>
  defineTool({
    name,
    description: 'Hangs.',
    input: z.object({}),
    output: z.string(),
    effect,
    execute: (_input, { signal }) => forever(signal, name),
  });
const slow = defineTool({
  name: 'slow',
  description: 'Takes too long.',
  input: z.object({}),
  output: z.string(),
  effect: 'pure',
  timeoutMs: 50,
  execute: () => new Promise<string>((resolve) => setTimeout(resolve, 5000, 'late').unref()),
});

const endless = functionModel('endless', (request) => {
  const n = resultsIn(request.input).length;
  return [call('step', { n }, `call_${n}`)];
});
const mute = functionModel('mute', () => {
  throw new Error('no words');
});
const hanging = functionModel('hanging', (request) => forever(request.signal, 'model'));
const grants = ['tool:call:*'];

const config = {
  turnsPerSegment: 3,
  agents: [
    defineAgent({ agent: new Agent({ name: 'endless', model: endless, tools: [step] }), grants, maxTurns: 8 }),
    defineAgent({ agent: new Agent({ name: 'thrifty', model: endless, tools: [step] }), grants, maxTotalTokens: 400 }),
    defineAgent({ agent: new Agent({ name: 'hasty', model: hanging }), grants, maxDurationMs: 300 }),
    defineAgent({ agent: new Agent({ name: 'hung_model', model: hanging }), grants }),
    defineAgent({ agent: new Agent({ name: 'mute', model: mute }), grants }),
    defineAgent({
      agent: new Agent({ name: 'hung_tool', model: scripted([[call('hang', {})]]), tools: [hang('hang', 'pure')] }),
      grants,
    }),
    defineAgent({
      agent: new Agent({
        name: 'hung_pay',
        model: scripted([[call('hang_pay', {})]]),
        tools: [hang('hang_pay', 'unsafe')],
      }),
      grants,
    }),
    defineAgent({ agent: new Agent({ name: 'slow', model: scripted([[call('slow', {})]]), tools: [slow] }), grants }),
    defineAgent({ agent: new Agent({ name: 'quick', model: scripted([[say('hello')]]) }) }),
  ],
};

const until = async (check: () => Promise<boolean>): Promise<void> => {
  for (let n = 0; n < 200 && !(await check()); n++) await new Promise((resolve) => setTimeout(resolve, 25));
};

describeEachDatabase('limits and cancellation', (kind) => {
  const t = engineFor(kind, config);

  it('a run that reaches its turns fails by name, over several segments', async () => {
    const run = await runToRest(t.engine, 'endless');
    expect(run).toMatchObject({ status: 'failed', turns: 8, segment: 2, error: { code: 'limit_turns' } });
    expect((await kindsOf(t.engine, run.id)).filter((one) => one === 'segment.cut')).toHaveLength(2);
    expect(await t.engine.verifyRun(run.id, ADMIN)).toMatchObject({ ok: true, complete: true });
  });

  it('a run may ask for less than its agent has, not for more', async () => {
    const less = await t.engine.startRun({ agent: 'endless', input: 'go', maxTurns: 2 }, ADMIN);
    expect(await restOf(t.engine, less.id)).toMatchObject({ status: 'failed', turns: 2 });
    const more = await t.engine.startRun({ agent: 'endless', input: 'go', maxTurns: 20 }, ADMIN);
    expect(more.limits.maxTurns).toBe(8);
    await restOf(t.engine, more.id);
  });

  it('tokens and time end a run by name', async () => {
    expect(await runToRest(t.engine, 'thrifty')).toMatchObject({ status: 'failed', error: { code: 'limit_tokens' } });
    expect(await runToRest(t.engine, 'hasty')).toMatchObject({ status: 'failed', error: { code: 'limit_wall_time' } });
  });

  const lastStep = async (id: string) => (await t.engine.getTrajectory(id, ADMIN)).steps.at(-1);

  it('a run that fails inside a model call has that call as its last step', async () => {
    const failed = await runToRest(t.engine, 'mute');
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'model_failed' }, turns: 1 });
    expect(await lastStep(failed.id)).toMatchObject({
      ...{ step: 1, done: true, observation: [] },
      action: { agent: 'mute', model: 'mute', text: null, reasoning: null, calls: [] },
      info: { error: failed.error, usage: { totalTokens: 0 } },
    });
    const late = await runToRest(t.engine, 'hasty');
    expect(await lastStep(late.id)).toMatchObject({ step: 1, done: true, info: { error: null } });
  });

  it.each([
    ['hung_model', 'model.requested', 'model'],
    ['hung_tool', 'call.started', 'hang'],
    ['hung_pay', 'call.started', 'hang_pay'],
  ])('cancel stops %s in flight within 2 s', async (agent, started, name) => {
    aborted.length = 0;
    const { id } = await t.engine.startRun({ agent, input: 'go' }, ADMIN);
    await until(async () => (await kindsOf(t.engine, id)).includes(started));
    await new Promise((resolve) => setTimeout(resolve, 100));
    await t.engine.cancelRun(id, 'changed my mind', ADMIN);
    const run = await t.engine.getRun(id, ADMIN, { waitMs: 2000 });
    expect(run.status).toBe('cancelled');
    expect(aborted).toContain(name);
    const kinds = await kindsOf(t.engine, id);
    expect(kinds.at(-1)).toBe('run.cancelled');
    expect(await lastStep(id)).toMatchObject({ step: 1, done: true, info: { error: null } });
    if (name === 'hang') expect(kinds).toContain('call.finished');
    if (name === 'hang_pay') expect(kinds).toContain('call.unknown');
    expect(await t.engine.cancelRun(id, null, ADMIN)).toMatchObject({ status: 'cancelled' });
  });

  it('a run that is over cannot be cancelled', async () => {
    const run = await runToRest(t.engine, 'quick');
    expect(run).toMatchObject({ status: 'completed', output: 'hello' });
    await expect(t.engine.cancelRun(run.id, null, ADMIN)).rejects.toMatchObject({ code: 'run_over' });
    await expect(t.engine.cancelRun('run_none', null, ADMIN)).rejects.toMatchObject({ code: 'run_unknown' });
  });

  it('a tool that takes too long is an error that the model reads', async () => {
    const run = await runToRest(t.engine, 'slow');
    expect(run).toMatchObject({ status: 'completed', output: 'call_slow=slow did not end within 50 ms.' });
  });
});
