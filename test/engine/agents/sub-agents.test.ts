import { Agent } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  defineAgent,
  defineTool,
  type Engine,
  functionModel,
  type HoldfastConfig,
  subAgent,
} from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, BOB, decideAndRest, engineFor, eventsOf, kindsOf, restOf, runToRest } from '../../harness/engine.js';
import { call, say, scripted } from '../../harness/script.js';

const input = z.object({ n: z.number() });
const output = z.object({ done: z.string() });
const tool = (name: string, more: object = {}) =>
  defineTool({
    ...{ name, description: `Does ${name}.`, input, output, effect: 'pure' as const },
    ...more,
    execute: ({ n }) => ({ done: `${name} ${n}` }),
  });

let slow: (() => void) | undefined;
const hang = defineTool({
  ...{ name: 'hang', description: 'Never ends by itself.', input, output },
  execute: (_input, { signal }) =>
    new Promise<{ done: string }>((resolve) => {
      slow?.();
      signal.addEventListener('abort', () => resolve({ done: 'aborted' }));
    }),
});

const passOn = (...names: string[]) =>
  names.map((name) => ({ capability: `tool:call:${name}`, effect: 'allow' as const, delegate: true }));

const agent = (name: string, tools: Agent['tools'], script: Parameters<typeof scripted>[0], more: object = {}) =>
  defineAgent({
    agent: new Agent({ name, model: scripted(script), tools }),
    grants: [...tools.map((one) => `tool:call:${one.name}`), ...passOn('look', 'pay', 'work', 'hang', 'deeper')],
    ...more,
  });

const ask = (name: string, id = `call_${name}`, text = 'the job') => call(name, { input: text }, id);
const failing = functionModel('failing', () => {
  throw new Error('out of order');
});
const echo = functionModel('echo', (request) => [say(`echo ${JSON.stringify(request.input)}`)]);

const config: HoldfastConfig = {
  agents: [
    agent('worker', [tool('look')], [[call('look', { n: 1 })], [say('looked 1')]]),
    agent('payer', [tool('pay', { approval: true })], [[call('pay', { n: 5 })]]),
    defineAgent({ agent: new Agent({ name: 'broken', model: failing }) }),
    defineAgent({ agent: new Agent({ name: 'echo', model: echo }) }),
    agent('stuck', [hang], [[call('hang', { n: 1 })]]),
    agent('boss', [subAgent({ agent: 'worker', name: 'work' })], [[ask('work')]]),
    agent('chief', [subAgent({ agent: 'boss', name: 'deeper' })], [[ask('deeper')]]),
    agent(
      'twins',
      [subAgent({ agent: 'worker', name: 'work' }), tool('look')],
      [[ask('work', 'w1'), call('look', { n: 3 }, 'l1'), ask('work', 'w2')]],
    ),
    agent(
      'careful',
      [subAgent({ agent: 'payer', name: 'work' }), tool('pay', { approval: 'Sure?' })],
      [[call('pay', { n: 1 }, 'own'), ask('work')]],
    ),
    agent('teller', [subAgent({ agent: 'broken', name: 'work' })], [[ask('work')]]),
    agent('failer', [subAgent({ agent: 'broken', name: 'work', onFailure: 'fail' })], [[ask('work')]]),
    agent(
      'rash',
      [subAgent({ agent: 'rash', name: 'work', onFailure: 'fail' }), subAgent({ agent: 'payer' })],
      [[ask('payer', 'p'), ask('work', 'w')]],
    ),
    agent('holder', [subAgent({ agent: 'stuck', name: 'work' })], [[ask('work')]]),
    agent('over_holder', [subAgent({ agent: 'holder', name: 'deeper' })], [[ask('deeper')]]),
    agent('loop', [subAgent({ agent: 'loop', name: 'work' })], [[ask('work')]]),
    agent('shallow', [subAgent({ agent: 'deep', name: 'deeper' })], [[ask('deeper')]]),
    agent('deep', [subAgent({ agent: 'worker', name: 'work', maxDepth: 1 })], [[ask('work')]]),
    agent('stingy', [subAgent({ agent: 'worker', name: 'work' })], [[ask('work')]], { grants: ['tool:call:work'] }),
    agent(
      'formal',
      [
        subAgent({
          ...{ agent: 'echo', name: 'work', input: z.object({ city: z.string(), days: z.int() }), approval: true },
          grants: [],
        }),
      ],
      [[call('work', { city: 'Rome', days: 2 })]],
    ),
  ],
};

const childrenOf = async (engine: Engine, parent: string) =>
  (await engine.listRuns({ parent, limit: 50 }, ADMIN)).items;
const finish = (engine: Engine, id: string) => restOf(engine, id);
/** Waits until a run and what it waits for is over. */
const over = async (engine: Engine, id: string) => {
  for (let tries = 0; tries < 400; tries++) {
    const run = await finish(engine, id);
    if (run.status !== 'paused') return run;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`${id} is paused forever`);
};
const start = async (engine: Engine, name: string) => (await engine.startRun({ agent: name, input: 'go' }, ADMIN)).id;
const whole = async (engine: Engine, id: string) =>
  expect(await engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true, broken: null });

describeEachDatabase('sub-agents', (kind) => {
  const test = engineFor(kind, { ...config, workerId: 'sub' });

  it('a call is a run of its own, linked both ways, and its output is the result', async () => {
    const { engine } = test;
    const run = await over(engine, await start(engine, 'boss'));
    expect(run).toMatchObject({ status: 'completed', output: 'call_work=looked 1', parentRunId: null, turns: 2 });
    const [child, ...others] = await childrenOf(engine, run.id);
    expect(others).toEqual([]);
    expect(child).toMatchObject({
      parentRunId: run.id,
      agent: 'worker',
      status: 'completed',
      input: 'the job',
      turns: 2,
    });
    expect(await kindsOf(engine, run.id)).toEqual([
      ...['run.created', 'segment.started', 'model.requested', 'model.responded', 'call.checked', 'call.started'],
      ...['child.started', 'interruption.requested', 'run.paused', 'child.ended', 'interruption.decided'],
      ...['segment.started', 'call.checked', 'call.started', 'call.finished'],
      ...['model.requested', 'model.responded', 'run.completed'],
    ]);
    const [checked] = await eventsOf(engine, run.id, 'call.checked');
    const [created] = await eventsOf(engine, child?.id ?? '', 'run.created');
    expect(created?.data).toMatchObject({
      parent: { runId: run.id, callId: 'call_work', eventId: checked?.id, notGranted: [] },
    });
    const [started] = await eventsOf(engine, run.id, 'child.started');
    expect(started?.data).toMatchObject({ callId: 'call_work', childRunId: child?.id, agent: 'worker' });
    const [ended] = await eventsOf(engine, run.id, 'child.ended');
    const log = await eventsOf(engine, child?.id ?? '');
    expect(ended?.data).toMatchObject({
      ...{ childRunId: child?.id, status: 'completed', usage: child?.usage },
      ...{ events: log.length, stateHash: log.at(-1)?.stateHashAfter },
    });
    const { steps } = await engine.getTrajectory(run.id, ADMIN);
    expect(steps[0]?.action.calls[0]).toMatchObject({ callId: 'call_work', childRunId: child?.id });
    await whole(engine, run.id);
    await whole(engine, child?.id ?? '');
  });

  it('what children use counts on the runs above them, and once in the statistics', async () => {
    const { engine } = test;
    const before = (await engine.stats(ADMIN)).totalTokens;
    const run = await over(engine, await start(engine, 'chief'));
    expect(run).toMatchObject({ status: 'completed', output: 'call_deeper=call_work=looked 1' });
    const [boss] = await childrenOf(engine, run.id);
    const [worker] = await childrenOf(engine, boss?.id ?? '');
    expect(worker).toMatchObject({ agent: 'worker', status: 'completed' });
    const own = (id: string) =>
      eventsOf(engine, id, 'model.responded').then((events) =>
        events.reduce((sum, { data }) => sum + (data as { usage: { totalTokens: number } }).usage.totalTokens, 0),
      );
    const [a, b, c] = [await own(run.id), await own(boss?.id ?? ''), await own(worker?.id ?? '')];
    expect(c).toBeGreaterThan(0);
    expect([run.usage.totalTokens, boss?.usage.totalTokens, worker?.usage.totalTokens]).toEqual([a + b + c, b + c, c]);
    expect((await engine.stats(ADMIN)).totalTokens - before).toBe(a + b + c);
  });

  it('several at once, beside a tool: each has a run of its own', async () => {
    const { engine } = test;
    const run = await over(engine, await start(engine, 'twins'));
    expect(run).toMatchObject({ status: 'completed' });
    expect(String(run.output).split(' | ').sort()).toEqual(['l1={"done":"look 3"}', 'w1=looked 1', 'w2=looked 1']);
    expect(await childrenOf(engine, run.id)).toHaveLength(2);
    expect((await kindsOf(engine, run.id)).filter((one) => one === 'child.ended')).toHaveLength(2);
    await whole(engine, run.id);
  });

  it('pauses for its own approval; the parent waits for it and for its own, whichever comes first', async () => {
    const { engine } = test;
    const id = await start(engine, 'careful');
    expect((await finish(engine, id)).status).toBe('paused');
    const [child] = await childrenOf(engine, id);
    expect((await finish(engine, child?.id ?? '')).status).toBe('paused');
    const { items } = await engine.listInterruptions({ status: 'pending', runId: id, limit: 10 }, ADMIN);
    expect(items.map((one) => one.kind).sort()).toEqual(['approval', 'child_run']);
    const waits = items.find((one) => one.kind === 'child_run');
    expect(waits).toMatchObject({ verdicts: [], expiresAt: null, wait: { kind: 'child_run', runId: child?.id } });
    await expect(engine.decide(waits?.id ?? '', { verdict: 'approve' }, BOB)).rejects.toMatchObject({
      code: 'verdict_not_allowed',
    });
    const waiting = (await eventsOf(engine, id)).at(-1)?.seq ?? 0;
    await expect(engine.forkRun(id, { at: waiting }, ADMIN)).rejects.toMatchObject({
      ...{ code: 'fork_invalid', message: expect.stringContaining('waits there for its own run') },
    });
    // The log up to the event does not say that it waits; the call does.
    const [begun] = (await eventsOf(engine, id, 'call.started')).filter(
      ({ data }) => (data as { callId: string }).callId === 'call_work',
    );
    await expect(engine.forkRun(id, { at: begun?.seq ?? 0 }, ADMIN)).rejects.toMatchObject({
      ...{ code: 'fork_invalid', message: expect.stringContaining('waits there for its own run') },
    });
    expect((await decideAndRest(engine, child?.id ?? '', { verdict: 'approve' })).status).toBe('completed');
    expect((await finish(engine, id)).status).toBe('paused');
    await decideAndRest(engine, id, { verdict: 'approve' });
    expect(await over(engine, id)).toMatchObject({
      ...{ status: 'completed', output: 'call_work=call_pay={"done":"pay 5"} | own={"done":"pay 1"}' },
    });
    await whole(engine, id);
    const ended = (await eventsOf(engine, id, 'call.finished')).at(-1)?.seq ?? 0;
    const fork = await engine.forkRun(id, { at: ended }, ADMIN);
    const { usage } = await engine.getRun(id, ADMIN);
    expect(await over(engine, fork.id)).toMatchObject({ status: 'completed', usage });
    // A fork that waits for a run which is over has its result at once.
    const late = await engine.forkRun(id, { at: waiting }, ADMIN);
    expect((await finish(engine, late.id)).status).toBe('paused');
    await decideAndRest(engine, late.id, { verdict: 'approve' });
    const { output: said } = await engine.getRun(id, ADMIN);
    expect(await over(engine, late.id)).toMatchObject({ status: 'completed', output: said, usage });
    await whole(engine, late.id);
    expect([...(await childrenOf(engine, fork.id)), ...(await childrenOf(engine, late.id))]).toEqual([]);
    await whole(engine, fork.id);
  });

  it('the model reads that a child failed, where the tool says so', async () => {
    const { engine } = test;
    const run = await over(engine, await start(engine, 'teller'));
    const [child] = await childrenOf(engine, run.id);
    expect(run.status).toBe('completed');
    expect(run.output).toContain(`work failed: its run ${child?.id} failed with model_failed`);
  });

  it('or the run fails by name', async () => {
    const { engine } = test;
    const run = await over(engine, await start(engine, 'failer'));
    expect(run).toMatchObject({ status: 'failed', error: { code: 'sub_agent_failed' } });
    expect(await kindsOf(engine, run.id)).toContain('child.ended');
    await whole(engine, run.id);
  });

  it('a run that fails leaves nothing at work below it', async () => {
    const { engine } = test;
    const run = await over(engine, await start(engine, 'rash'));
    expect(run).toMatchObject({ status: 'failed', error: { code: 'sub_agent_cycle' } });
    const [child] = await childrenOf(engine, run.id);
    expect(await finish(engine, child?.id ?? '')).toMatchObject({ agent: 'payer', status: 'cancelled' });
    const [asked] = await eventsOf(engine, child?.id ?? '', 'run.cancel_requested');
    expect(asked?.data).toEqual({ actor: 'holdfast', reason: `Run ${run.id} above it is failed.` });
    await whole(engine, run.id);
    await whole(engine, child?.id ?? '');
  });

  it('a cancelled run takes all below it along, also those at work', async () => {
    const { engine } = test;
    const atWork = new Promise<void>((resolve) => {
      slow = resolve;
    });
    const id = await start(engine, 'over_holder');
    await atWork;
    expect((await finish(engine, id)).status).toBe('paused');
    const [holder] = await childrenOf(engine, id);
    const [stuck] = await childrenOf(engine, holder?.id ?? '');
    await finish(engine, holder?.id ?? '');
    expect(await engine.cancelRun(id, 'enough', ADMIN)).toMatchObject({ status: 'cancelled' });
    for (const run of [id, holder?.id ?? '', stuck?.id ?? '']) {
      expect((await finish(engine, run)).status).toBe('cancelled');
      await whole(engine, run);
    }
    const [asked] = await eventsOf(engine, stuck?.id ?? '', 'run.cancel_requested');
    expect(asked?.data).toMatchObject({
      actor: 'ada',
      reason: expect.stringMatching(/above it was cancelled: .*enough/),
    });
  });

  it('a child that is cancelled on its own has failed for its parent', async () => {
    const { engine } = test;
    const atWork = new Promise<void>((resolve) => {
      slow = resolve;
    });
    const id = await start(engine, 'holder');
    await atWork;
    const [child] = await childrenOf(engine, id);
    await engine.cancelRun(child?.id ?? '', 'not this one', ADMIN);
    const run = await over(engine, id);
    expect(run.status).toBe('completed');
    expect(run.output).toBe(`call_work=work failed: its run ${child?.id} was cancelled: not this one`);
  });

  it('agents do not work below themselves, and not too deep', async () => {
    const { engine } = test;
    const looped = await over(engine, await start(engine, 'loop'));
    expect(looped.output).toContain('the agent loop works above this call already'.replace('the', 'The'));
    expect(await childrenOf(engine, looped.id)).toEqual([]);
    const shallow = await over(engine, await start(engine, 'shallow'));
    expect(shallow.output).toContain('at most 1 are allowed (maxDepth): shallow > deep > worker');
    const finished = await eventsOf(engine, looped.id, 'call.finished');
    expect(finished[0]?.data).toMatchObject({ outcome: { type: 'error', code: 'sub_agent_cycle' } });
  });

  it('a child holds nothing that its parent may not pass on', async () => {
    const { engine } = test;
    const run = await over(engine, await start(engine, 'stingy'));
    const [child] = await childrenOf(engine, run.id);
    expect(child).toMatchObject({ status: 'failed', error: { code: 'capability_denied' } });
    const [started] = await eventsOf(engine, run.id, 'child.started');
    expect(started?.data).toMatchObject({
      notGranted: ['tool:call:deeper', 'tool:call:hang', 'tool:call:look', 'tool:call:pay', 'tool:call:work'],
    });
    expect(run.output).toContain('capability_denied');
  });

  it('takes typed arguments, and an approval of its own comes before the child', async () => {
    const { engine } = test;
    const run = await runToRest(engine, 'formal');
    expect(await childrenOf(engine, run.id)).toEqual([]);
    await decideAndRest(engine, run.id, { verdict: 'approve' });
    const done = await over(engine, run.id);
    expect(done.output).toContain('{\\"city\\":\\"Rome\\",\\"days\\":2}');
    const [child] = await childrenOf(engine, run.id);
    expect(child?.input).toBe('{"city":"Rome","days":2}');
  });
});

describe('a sub-agent that cannot be', () => {
  it.each([
    ['an unknown option', { agent: 'worker', maxTruns: 3 }],
    ['no agent', { name: 'work' }],
    ['a bound below one', { agent: 'worker', maxDepth: 0 }],
    ['a grant that is none', { agent: 'worker', grants: ['fs:raed:/x'] }],
    ['an agent without a name for a tool', { agent: '漢字' }],
  ])('%s', (_why, options) => {
    expect(() => subAgent(options as never)).toThrowError(expect.objectContaining({ code: 'tool_invalid' }));
  });
});
