import { Agent } from '@openai/agents';
import { expect, it, vi } from 'vitest';
import { type Caller, defineAgent } from '../../../src/index.js';
import { functionModel } from '../../../src/library/models.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, BOB, dataOf, engineFor, pendingOf, restOf } from '../../harness/engine.js';
import { say } from '../../harness/script.js';

/** Patches of agents, from the proposal over the trial and the decision to a share of runs, and back. */

const CARL: Caller = { actor: 'carl', role: 'approver', tenant: 'default' };
const OTTO: Caller = { actor: 'otto', role: 'operator', tenant: 'default' };

/** Greets as its instructions say, and fails where they say so. */
const model = functionModel('greeter', async ({ systemInstructions, input }) => {
  const polite = systemInstructions?.includes('please') ?? false;
  if (systemInstructions?.includes('break') === true && JSON.stringify(input).includes('order'))
    throw new Error('the model is broken');
  return [say(polite ? 'please wait' : 'wait')];
});
const clerk = new Agent({ name: 'clerk', instructions: 'Answer.', model });

describeEachDatabase('a patch of an agent', (kind) => {
  const test = engineFor(kind, {
    agents: [defineAgent({ agent: clerk, grants: ['tool:call:look'] }), new Agent({ name: 'closed', model })],
    evolution: { agents: ['clerk'], approvals: 2 },
  });
  const baseOf = async (agent: string) => (await test.engine.getAgent(agent, ADMIN)).definitionHash;
  const propose = async (patch: object[], more: object = {}, agent = 'clerk') => {
    const input = JSON.stringify({ agent, base: await baseOf(agent), patch, reason: 'Be polite.', ...more });
    const { id } = await test.engine.startRun({ agent: 'evolve', input }, OTTO);
    // While its cases are at work it pauses, too.
    return vi.waitFor(
      async () => {
        const run = await restOf(test.engine, id);
        if (run.status === 'paused')
          expect(await pendingOf(test.engine, id, 'apply_patch')).toMatchObject({ kind: 'approval' });
        return run;
      },
      { timeout: 20_000, interval: 100 },
    );
  };
  const politely = [{ op: 'replace', path: '/instructions', value: 'Say please.' }];
  const approve = async (id: string, ...people: Caller[]) => {
    for (const person of people) {
      const item = await pendingOf(test.engine, id, 'apply_patch');
      await test.engine.decide(item?.id ?? '', { verdict: 'approve', digest: item?.digest }, person);
    }
    return restOf(test.engine, id);
  };
  const outputs = async (count: number): Promise<unknown[]> => {
    const started = await Promise.all(
      Array.from({ length: count }, () => test.engine.startRun({ agent: 'clerk', input: 'order' }, OTTO)),
    );
    const rested = [];
    for (const { id } of started) rested.push(await restOf(test.engine, id));
    return rested.map((run) => [run.output, run.agentVersion.includes('+')]);
  };

  it('is tried, decided by a quorum of others, given to a share of new runs, and taken back', async () => {
    const cases = ['a', 'b', 'c'].map((input) => ({ input, expect: { contains: 'please' } }));
    const proposed = await propose(politely, { cases, share: 50 });
    expect(proposed.status).toBe('paused');
    const [trial] = await dataOf(test.engine, proposed.id, 'call.finished');
    const report = (trial?.['outcome'] as { output?: unknown } | undefined)?.output;
    expect(report).toMatchObject({
      changes: ['instructions'],
      before: { passed: 0, of: 3, rate: 0 },
      after: { passed: 3, of: 3, rate: 1 },
    });
    const item = await pendingOf(test.engine, proposed.id, 'apply_patch');
    await expect(
      test.engine.decide(item?.id ?? '', { verdict: 'approve' }, { ...OTTO, role: 'approver' }),
    ).rejects.toMatchObject({ code: 'requester_may_not_approve' });
    await approve(proposed.id, BOB);
    expect((await outputs(4)).every((one) => JSON.stringify(one) === '["wait",false]')).toBe(true);
    expect((await approve(proposed.id, CARL)).output).toEqual({ applied: true });
    const split = await outputs(24);
    const given = split.filter((one) => JSON.stringify(one) === '["please wait",true]').length;
    expect(given).toBeGreaterThan(2);
    expect(given).toBeLessThan(22);
    expect(split.filter((one) => JSON.stringify(one) === '["wait",false]')).toHaveLength(24 - given);
    await expect(
      test.engine.rolloutAgent('clerk', { share: 100 }, { ...OTTO, role: 'approver' }),
    ).rejects.toMatchObject({ code: 'requester_may_not_approve' });
    const all = await test.engine.rolloutAgent('clerk', { share: 100 }, BOB);
    expect(all.versions[0]).toMatchObject({ status: 'live', share: 100, actor: 'bob', ended: given, completed: given });
    await test.restart();
    expect(await outputs(3)).toEqual(Array(3).fill(['please wait', true]));
    const back = await test.engine.rollbackAgent('clerk', { reason: 'Too long.' }, BOB);
    expect(back.versions[0]).toMatchObject({
      ...{ status: 'rolled_back', reason: 'Too long.', share: 0 },
      report: { before: { passed: 0, of: 3 }, after: { passed: 3, of: 3 } },
    });
    expect(await outputs(3)).toEqual(Array(3).fill(['wait', false]));
    await expect(test.engine.rollbackAgent('clerk', { reason: 'Again.' }, BOB)).rejects.toMatchObject({
      code: 'agent_version_none',
    });
  });

  it('is taken back by itself when too many of its runs fail', async () => {
    const breaking = [{ op: 'replace', path: '/instructions', value: 'Say please, and break.' }];
    const proposed = await propose(breaking, { share: 100, measure: { leastRate: 0.5, minRuns: 2 } });
    await approve(proposed.id, BOB, CARL);
    for (let n = 0; n < 2; n++) {
      const { id } = await test.engine.startRun({ agent: 'clerk', input: 'order' }, OTTO);
      expect((await restOf(test.engine, id)).status).toBe('failed');
    }
    expect(await outputs(2)).toEqual(Array(2).fill(['wait', false]));
    const [version, before] = (await test.engine.getEvolution('clerk', ADMIN)).versions;
    const first = await test.engine.listVersions({ limit: 1, status: 'rolled_back' }, ADMIN);
    expect(first.items).toEqual([version]);
    const second = await test.engine.listVersions({ limit: 1, cursor: String(first.nextCursor) }, ADMIN);
    expect(second).toEqual({ items: [before], nextCursor: null });
    expect(version).toMatchObject({ status: 'rolled_back', actor: null, completed: 0, ended: 2 });
    const events = await test.engine.listSystemEvents({ after: 0, limit: 200, kind: 'agent.version_changed' }, ADMIN);
    expect(events.items.filter(({ runId }) => runId === proposed.id)).toHaveLength(2);
  });

  it.each([
    ['widens its grants', [{ op: 'add', path: '/grants/-', value: 'tool:call:*' }], 'clerk', 'patch_widens_grants'],
    ['changes an agent that none may', politely, 'closed', 'patch_out_of_reach'],
    ['changes the one that decides', politely, 'evolve', 'patch_out_of_reach'],
  ])('is refused by name, in the log, when it %s', async (_, patch, agent, code) => {
    const refused = await propose(patch, {}, agent);
    expect(refused).toMatchObject({ status: 'completed', output: { applied: false, message: expect.any(String) } });
    expect(JSON.stringify(await dataOf(test.engine, refused.id, 'call.finished'))).toContain(code);
  });

  it('is refused when it starts from another definition', async () => {
    const refused = await propose(politely, { base: `sha256:${'0'.repeat(64)}` });
    expect(JSON.stringify(refused.output)).toContain('that of clerk is');
  });

  it('is given to no run where a row alone says that it was approved', async () => {
    const proposed = await propose(politely, { share: 100 });
    await test.between((knex) =>
      knex('holdfast.agent_versions')
        .where({ id: proposed.id })
        .update({ status: 'live', share: 100, applied_at: new Date() }),
    );
    expect(await outputs(2)).toEqual(Array(2).fill(['wait', false]));
    await approve(proposed.id, BOB);
    await test.between((knex) =>
      knex('holdfast.agent_versions')
        .where({ id: proposed.id })
        .update({ status: 'proposed', share: 0, applied_at: null }),
    );
    await approve(proposed.id, CARL);
    expect(await outputs(2)).toEqual(Array(2).fill(['please wait', true]));
    await test.engine.rollbackAgent('clerk', { reason: 'Tried.' }, BOB);
  });

  it('goes with the erasure of its run, unless it was applied', async () => {
    const known = async () => (await test.engine.getEvolution('clerk', ADMIN)).versions.map(({ id }) => id);
    const applied = await propose(politely, { share: 1 });
    await approve(applied.id, BOB, CARL);
    const refused = await propose(politely, { share: 1 });
    const item = await pendingOf(test.engine, refused.id, 'apply_patch');
    await test.engine.decide(item?.id ?? '', { verdict: 'reject' }, BOB);
    await restOf(test.engine, refused.id);
    expect(await known()).toEqual(expect.arrayContaining([applied.id, refused.id]));
    for (const { id } of [applied, refused]) await test.engine.eraseRun(id, { reason: 'Ticket 812' }, ADMIN);
    expect(await known()).toContain(applied.id);
    expect(await known()).not.toContain(refused.id);
    await test.engine.rollbackAgent('clerk', { reason: 'Enough.' }, BOB);
  });

  it('is kept by a run that was started with it, also when it is replayed after a rollback', async () => {
    const proposed = await propose(politely, { share: 100 });
    await approve(proposed.id, BOB, CARL);
    const { id } = await test.engine.startRun({ agent: 'clerk', input: 'order' }, OTTO);
    const ended = await restOf(test.engine, id);
    await test.engine.rollbackAgent('clerk', { reason: 'Enough.' }, BOB);
    expect(ended.output).toBe('please wait');
    expect(await test.engine.replayRun(id, {}, ADMIN)).toMatchObject({ result: 'same' });
  });
});
