import { expect, it, vi } from 'vitest';
import { z } from 'zod';
import { type Caller, definePlan, defineTool } from '../../../src/index.js';
import { describeEachDatabaseSlowly } from '../../harness/database.js';
import { ADMIN, BOB, dataOf, engineFor, pendingOf, restOf } from '../../harness/engine.js';

/** Patches of plans: tried, decided by a quorum, given to a share of new runs, kept by those that have begun, and taken back. */

const CARL: Caller = { actor: 'carl', role: 'approver', tenant: 'default' };
const OTTO: Caller = { actor: 'otto', role: 'operator', tenant: 'default' };

const greet = defineTool({
  ...{
    name: 'greet',
    description: 'Greets.',
    effect: 'pure',
    input: z.object({ word: z.string() }),
    output: z.string(),
  },
  execute: ({ word }) => word,
});
const steal = defineTool({
  ...{ name: 'steal', description: 'Steals.', effect: 'pure', input: z.object({}), output: z.string() },
  execute: () => 'gold',
});
const plan = definePlan({
  name: 'greeting',
  tools: [greet, steal],
  grants: ['tool:call:*', 'human:ask:question'],
  plan: {
    nodes: {
      ask: { type: 'ask', question: 'Ready?' },
      greet: { type: 'tool', tool: 'greet', arguments: { word: 'wait' } },
    },
    output: { $from: '/nodes/greet' },
  },
});
const quick = definePlan({
  name: 'quick',
  tools: [greet],
  grants: ['tool:call:greet'],
  plan: {
    nodes: { greet: { type: 'tool', tool: 'greet', arguments: { word: 'wait' } } },
    output: { $from: '/nodes/greet' },
  },
});

describeEachDatabaseSlowly('a patch of a plan', (kind) => {
  const t = engineFor(kind, {
    agents: [plan, quick],
    evolution: { agents: ['greeting', 'quick'], approvals: 2, trialGrants: ['tool:call:greet'] },
  });
  const propose = async (agent: string, patch: object[], more: object = {}) => {
    const { definitionHash: base } = await t.engine.getAgent(agent, ADMIN);
    const input = JSON.stringify({ agent, base, patch, reason: 'Be polite.', share: 100, ...more });
    const { id } = await t.engine.startRun({ agent: 'evolve', input }, OTTO);
    return vi.waitFor(
      async () => {
        const run = await restOf(t.engine, id);
        if (run.status === 'paused')
          expect(await pendingOf(t.engine, id, 'apply_patch')).toMatchObject({ kind: 'approval' });
        return run;
      },
      { timeout: 20_000, interval: 100 },
    );
  };
  const approve = async (id: string) => {
    for (const person of [BOB, CARL]) {
      const item = await pendingOf(t.engine, id, 'apply_patch');
      await t.engine.decide(item?.id ?? '', { verdict: 'approve', digest: item?.digest }, person);
    }
    return restOf(t.engine, id);
  };
  const politely = [{ op: 'replace', path: '/plan/nodes/greet/arguments/word', value: 'please wait' }];
  const start = async (agent: string) => {
    const { id } = await t.engine.startRun({ agent, input: 'go' }, OTTO);
    return restOf(t.engine, id);
  };

  it('is tried with both plans, decided, rolled out, and rolled back', { timeout: 60_000 }, async () => {
    const proposed = await propose('quick', politely, { cases: [{ input: 'go', expect: { contains: 'please' } }] });
    const [trial] = await dataOf(t.engine, proposed.id, 'call.finished');
    expect(trial).toMatchObject({
      outcome: { output: { changes: ['plan'], before: { passed: 0, of: 1 }, after: { passed: 1, of: 1 } } },
    });
    expect((await start('quick')).output).toBe('wait');
    expect((await approve(proposed.id)).output).toEqual({ applied: true });
    const given = await start('quick');
    expect(given).toMatchObject({ output: 'please wait', agentVersion: expect.stringContaining('+') });
    await t.restart();
    expect((await start('quick')).output).toBe('please wait');
    await t.engine.rollbackAgent('quick', { reason: 'Too long.' }, BOB);
    expect((await start('quick')).output).toBe('wait');
    expect(await t.engine.replayRun(given.id, {}, ADMIN)).toMatchObject({ result: 'same' });
    expect(await t.engine.verifyRun(given.id, ADMIN)).toMatchObject({ ok: true });
  });

  it('is not that of a run that waits, which ends by the plan that it began with', { timeout: 60_000 }, async () => {
    const waiting = await start('greeting');
    const proposed = await propose('greeting', politely);
    await approve(proposed.id);
    const later = await start('greeting');
    await t.restart();
    const outputs: unknown[] = [];
    for (const run of [waiting, later]) {
      expect(run.status).toBe('paused');
      await t.engine.decide(run.interruptions[0] ?? '', { verdict: 'answer', value: 'yes' }, BOB);
      outputs.push((await restOf(t.engine, run.id)).output);
    }
    expect(outputs).toEqual(['wait', 'please wait']);
    await t.engine.rollbackAgent('greeting', { reason: 'Enough.' }, BOB);
  });

  it.each([
    [
      'widens',
      [{ op: 'add', path: '/plan/nodes/more', value: { type: 'tool', tool: 'steal' } }],
      'patch_widens_grants',
    ],
    ['cannot be read', [{ op: 'add', path: '/plan/nodes/more', value: { type: 'tool' } }], 'plan_invalid'],
  ])('is refused by name, in the log, when it %s', async (_, patch, code) => {
    const refused = await propose('greeting', patch);
    expect(refused).toMatchObject({ status: 'completed', output: { applied: false, code } });
    expect(JSON.stringify(await dataOf(t.engine, refused.id, 'call.finished'))).toContain(code);
  });

  it('is not tried where trialGrants do not cover what its runs need', async () => {
    const refused = await propose('greeting', politely, { cases: [{ input: 'go', expect: { contains: 'please' } }] });
    expect(refused).toMatchObject({ status: 'completed', output: { applied: false, code: 'plan_not_granted' } });
  });
});
