import { expect, it } from 'vitest';
import { z } from 'zod';
import { definePlan, defineTool, type PlanDocument } from '../../../src/index.js';
import { describeEachDatabaseSlowly } from '../../harness/database.js';
import { ADMIN, BOB, dataOf, engineFor, eventsOf, pendingOf, restOf } from '../../harness/engine.js';

/** Plans that undo what they did: what the end of their time from their start does to them, wherever they are. */

const done: string[] = [];
let release: () => void = () => undefined;
const number = z.object({ n: z.int() });
const tool = (name: string, more: object = {}) =>
  defineTool({
    ...{ name, description: 'Does it.', input: number, output: number, ...more },
    execute: ({ n }, { callId }) => {
      done.push(`${name} ${callId}`);
      return { n };
    },
  });
/** Ends when the test says so. */
const slow = defineTool({
  ...{ name: 'slow', description: 'Takes long.', input: number, output: number },
  execute: async ({ n }, { callId }) => {
    done.push(`slow ${callId}`);
    await new Promise<void>((resolve) => {
      release = resolve;
    });
    return { n };
  },
});
const tools = [tool('book'), tool('cancel'), tool('refund', { approval: 'Pay it back?' }), slow];

const undo = { tool: 'cancel', arguments: { n: 1 } };
const book = (more: object = {}) => ({ type: 'tool' as const, tool: 'book', arguments: { n: 1 }, undo, ...more });
const MOST_MS = 1500;
const all = ['tool:call:*', 'human:ask:question', 'event:wait:never', 'time:sleep:timer'];
const passedOn = all.map((capability) => ({ capability, effect: 'allow' as const, delegate: true }));
const plan = (name: string, nodes: PlanDocument['nodes'], more: object = {}) =>
  definePlan({ name, tools, maxElapsedMs: MOST_MS, grants: all, plan: { nodes }, ...more });
const afterBoth = { after: ['a', 'b'] };
const both = { a: book(), b: book({ after: ['a'] }) };
const undoneBoth = ['book a', 'book b', 'cancel b~undo', 'cancel a~undo'];

describeEachDatabaseSlowly('a plan that undoes, when its time is over', (kind) => {
  const t = engineFor(kind, {
    agents: [
      plan('asks', { ...both, ask: { type: 'ask', question: 'Go on?', ...afterBoth } }),
      plan('waits', { ...both, never: { type: 'wait', event: 'never', ...afterBoth } }),
      plan('sleeps', { ...both, sleep: { type: 'wait', seconds: 3600, ...afterBoth } }),
      plan('works', { ...both, c: { type: 'tool', tool: 'slow', arguments: { n: 1 }, undo, ...afterBoth } }),
      plan('pays', {
        a: book({ undo: { tool: 'refund', arguments: { n: 1 } } }),
        ask: { type: 'ask', question: 'Go on?', after: ['a'] },
      }),
      plan('inner', { ...both, never: { type: 'wait', event: 'never', ...afterBoth } }, { maxElapsedMs: 600_000 }),
      plan(
        'outer',
        { first: book(), inner: { type: 'agent', agent: 'inner', input: 'go', after: ['first'] } },
        { grants: passedOn },
      ),
      plan('quick', { a: book() }, { maxElapsedMs: 600_000 }),
    ],
  });
  const start = async (agent: string) => {
    done.length = 0;
    return (await t.engine.startRun({ agent, input: 'go' }, ADMIN)).id;
  };
  const over = async (id: string) => {
    await expect.poll(async () => (await t.engine.getRun(id, ADMIN)).status, { timeout: 20_000 }).toBe('failed');
    return t.engine.getRun(id, ADMIN);
  };
  const holds = async (id: string) => {
    expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true, rows: [] });
    expect(await t.engine.replayRun(id, {}, ADMIN)).toMatchObject({ differences: [] });
  };

  it.each(['asks', 'waits', 'sleeps'])('undoes what it did where it %s', { timeout: 60_000 }, async (agent) => {
    const id = await start(agent);
    const run = await over(id);
    expect(run.error).toMatchObject({
      code: 'limit_elapsed',
      message: `It had ${MOST_MS} ms from its start (maxElapsedMs).`,
    });
    expect(done).toEqual(undoneBoth);
    const [ended] = await dataOf(t.engine, id, 'interruption.decided');
    expect(ended).toMatchObject({ verdict: 'expire', actor: 'holdfast' });
    await holds(id);
  });

  it('lets what is at work end first, and undoes that too', { timeout: 60_000 }, async () => {
    const id = await start('works');
    await expect.poll(() => done.length, { timeout: 20_000 }).toBe(3);
    await new Promise((resolve) => setTimeout(resolve, MOST_MS + 1500));
    expect((await t.engine.getRun(id, ADMIN)).status).toBe('running');
    release();
    expect((await over(id)).error).toMatchObject({ code: 'limit_elapsed' });
    expect(done).toEqual(['book a', 'book b', 'slow c', 'cancel c~undo', 'cancel b~undo', 'cancel a~undo']);
    await holds(id);
  });

  it('waits for people who must approve what undoes', { timeout: 60_000 }, async () => {
    const id = await start('pays');
    await expect.poll(() => pendingOf(t.engine, id, 'refund'), { timeout: 20_000 }).toBeDefined();
    // The watch looks once more than once.
    await new Promise((resolve) => setTimeout(resolve, 2500));
    const item = await pendingOf(t.engine, id, 'refund');
    await t.engine.decide(item?.id ?? '', { verdict: 'approve' }, BOB);
    expect((await over(id)).error).toMatchObject({ code: 'limit_elapsed' });
    expect(done).toEqual(['book a', 'refund a~undo']);
    await holds(id);
  });

  it('has the plans below it undo first', { timeout: 60_000 }, async () => {
    const id = await start('outer');
    expect((await over(id)).error).toMatchObject({ code: 'limit_elapsed' });
    expect(done).toEqual(['book first', ...undoneBoth, 'cancel first~undo']);
    const { items } = await t.engine.getFamily(id, ADMIN);
    const inner = items.find(({ agent }) => agent === 'inner');
    const below = await t.engine.getRun(inner?.id ?? '', ADMIN);
    expect(below).toMatchObject({ status: 'failed', error: { code: 'limit_elapsed' } });
    expect(below.limits.maxElapsedMs).toBeLessThanOrEqual(MOST_MS);
    await holds(id);
    await holds(below.id);
  });

  it('undoes after a restart, when no process was there at that moment', { timeout: 60_000 }, async () => {
    const id = await start('waits');
    await expect.poll(async () => (await t.engine.getRun(id, ADMIN)).status, { timeout: 20_000 }).toBe('paused');
    await t.between(() => new Promise((resolve) => setTimeout(resolve, MOST_MS)));
    expect((await over(id)).error).toMatchObject({ code: 'limit_elapsed' });
    expect(done).toEqual(undoneBoth);
  });

  it('goes on undoing in a fork that begins in the middle of it', { timeout: 60_000 }, async () => {
    const id = await start('waits');
    await over(id);
    const finished = await eventsOf(t.engine, id, 'call.finished');
    const at = finished.find(({ data }) => (data as { callId?: string }).callId === 'b~undo')?.seq ?? 0;
    done.length = 0;
    const fork = await t.engine.forkRun(id, { at, maxElapsedMs: 600_000 }, ADMIN);
    expect(await restOf(t.engine, fork.id)).toMatchObject({ status: 'failed', error: { code: 'limit_elapsed' } });
    expect(done).toEqual(['cancel a~undo']);
  });

  it('is cancelled by people without undoing, and completes where it is in time', async () => {
    const id = await start('waits');
    await expect.poll(async () => (await t.engine.getRun(id, ADMIN)).status, { timeout: 20_000 }).toBe('paused');
    await t.engine.cancelRun(id, null, ADMIN);
    expect(done).toEqual(['book a', 'book b']);
    expect(await restOf(t.engine, await start('quick'))).toMatchObject({ status: 'completed' });
  });
});
