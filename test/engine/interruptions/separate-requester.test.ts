import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { isSeparate } from '../../../src/core/interruptions/decision.js';
import { type Caller, defineAgent, defineTool, type RunView, subAgent } from '../../../src/index.js';
import { describeBothDatabasesSlowly } from '../../harness/database.js';
import { ADMIN, BOB, engineFor, eventsOf, restOf, runToRest } from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';

/** Who asks for a run does not approve its calls, where others must. */

const ANN: Caller = { ...BOB, actor: 'ann' };
const EVE: Caller = { ...ADMIN, actor: 'eve' };
const input = z.object({ n: z.number() });
const toolOf = (name: string, more: object) =>
  defineTool({
    ...{ name, description: 'Pays.', input, output: z.string(), approval: true, ...more },
    execute: ({ n }) => `${name} ${n}`,
  });
const pay = toolOf('pay', {});
const both = toolOf('both', { approvals: 2 });
const free = toolOf('free', { approvals: 2, separateRequester: false });
const apart = toolOf('apart', { separateRequester: true });

const agent = (name: string, tool: string, more: object = {}, tools: Agent['tools'] = [pay, both, free, apart]) =>
  defineAgent({
    agent: new Agent({
      name,
      model: scripted([[call(tool, tool === 'below' ? { input: 'Pay.' } : { n: 1 }, 'a')]]),
      tools,
    }),
    grants: ['tool:call:*', { capability: 'tool:call:apart', effect: 'allow', delegate: true }],
    ...more,
  });
const config = {
  agents: [
    agent('pays', 'pay'),
    agent('boths', 'both'),
    agent('frees', 'free'),
    agent('aparts', 'apart'),
    agent('strict', 'pay', { separateRequester: true }),
    agent('strict_free', 'free', { separateRequester: true }),
    agent('loose', 'both', { separateRequester: false }),
    agent('parent', 'below', {}, [subAgent({ agent: 'aparts', name: 'below' })]),
  ],
};

it('one setting that says yes is enough, and several approvals are of others unless one says no', () => {
  expect(isSeparate([], 1)).toBe(false);
  expect(isSeparate([undefined, null], 2)).toBe(true);
  expect(isSeparate([false, undefined], 2)).toBe(false);
  expect(isSeparate([false, true, undefined], 1)).toBe(true);
});

describeBothDatabasesSlowly('who asked for a run', (kind) => {
  const t = engineFor(kind, config);
  const pendingOf = async ({ id: runId }: Pick<RunView, 'id'>) =>
    (await t.engine.listInterruptions({ status: 'pending', runId, limit: 1 }, ADMIN)).items[0];
  const approve = async (run: Pick<RunView, 'id'>, caller: Caller, more: object = {}) =>
    t.engine.decide((await pendingOf(run))?.id ?? '', { verdict: 'approve', ...more }, caller);
  const refused = async (run: Pick<RunView, 'id'>, caller: Caller, asked = run.id) => {
    for (const more of [{}, { always: true }, { arguments: { n: 2 } }])
      await expect(approve(run, caller, more)).rejects.toMatchObject({
        ...{ code: 'requester_may_not_approve', status: 403 },
        message: expect.stringContaining(`${caller.actor} asked for run ${asked}`),
      });
    expect((await pendingOf(run))?.decisions).toEqual([]);
  };

  it('is in its log, and approves where one approval is enough', async () => {
    const run = await runToRest(t.engine, 'pays');
    const [created] = await eventsOf(t.engine, run.id);
    expect(created?.data).toMatchObject({ requestedBy: ['ada'] });
    expect(await pendingOf(run)).toMatchObject({ separateRequester: false });
    await approve(run, ADMIN);
    expect(await restOf(t.engine, run.id)).toMatchObject({ status: 'completed' });
  });

  it('approves nothing that takes several approvals, and may reject', async () => {
    const run = await runToRest(t.engine, 'boths');
    expect(await pendingOf(run)).toMatchObject({ separateRequester: true, requiredApprovals: 2 });
    await refused(run, ADMIN);
    await approve(run, BOB);
    await expect(approve(run, ADMIN)).rejects.toMatchObject({ code: 'requester_may_not_approve' });
    await approve(run, ANN);
    expect(await restOf(t.engine, run.id)).toMatchObject({ status: 'completed', output: 'a=both 1' });
    const other = await runToRest(t.engine, 'boths');
    await t.engine.decide((await pendingOf(other))?.id ?? '', { verdict: 'reject', message: 'No.' }, ADMIN);
    expect(await restOf(t.engine, other.id)).toMatchObject({ output: 'a=No.' });
  });

  it('is kept out, or let in, by the tool, the agent and the engine', async () => {
    for (const name of ['aparts', 'strict', 'strict_free']) await refused(await runToRest(t.engine, name), ADMIN);
    for (const name of ['frees', 'loose']) {
      const run = await runToRest(t.engine, name);
      await approve(run, ADMIN);
      await approve(run, BOB);
      expect(await restOf(t.engine, run.id), name).toMatchObject({ status: 'completed' });
    }
    await t.restart({ separateRequester: true });
    await refused(await runToRest(t.engine, 'pays'), ADMIN);
    await refused(await runToRest(t.engine, 'frees'), ADMIN);
    await t.restart();
  });

  it('is also who asked for the run that a fork was made of, and for the run above', async () => {
    const source = await runToRest(t.engine, 'aparts');
    await approve(source, BOB);
    await restOf(t.engine, source.id);
    const at = (await eventsOf(t.engine, source.id)).find(({ kind: one }) => one === 'run.paused')?.seq ?? 0;
    const fork = await t.engine.forkRun(source.id, { at }, EVE);
    await restOf(t.engine, fork.id);
    await refused(fork, EVE);
    await refused(fork, ADMIN);
    await approve(fork, ANN);
    expect(await restOf(t.engine, fork.id)).toMatchObject({ status: 'completed' });
    const parent = await runToRest(t.engine, 'parent');
    const children = await t.engine.listRuns({ parent: parent.id, limit: 5 }, ADMIN);
    expect(children.items.map(({ id }) => id)).toHaveLength(1);
    const below = { id: children.items[0]?.id ?? '' };
    await restOf(t.engine, below.id);
    await refused(below, ADMIN);
    await approve(below, BOB);
    await expect.poll(async () => (await restOf(t.engine, parent.id)).status).toBe('completed');
  });
});
