import { Agent, tool } from '@openai/agents';
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Caller, defineAgent, defineTool } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import {
  ADMIN,
  BOB,
  dataOf,
  decideAndRest,
  engineFor,
  eventsOf,
  kindsOf,
  restOf,
  runToRest,
} from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

const ran: string[] = [];
const approver = (actor: string): Caller => ({ ...BOB, actor });

const account = z.object({ to: z.string(), amount: z.number().positive() });

const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: account,
  output: z.object({ paid: z.number() }),
  capabilities: ({ to }) => [`bank:pay:${to}`],
  approval: ({ amount }) => (amount > 100 ? `${amount} is more than 100` : false),
  execute: ({ to, amount }) => {
    ran.push(`pay ${to} ${amount}`);
    return { paid: amount };
  },
});

const sign = defineTool({
  name: 'sign',
  description: 'Signs a contract.',
  input: z.object({ text: z.string() }),
  output: z.object({ signed: z.string() }),
  approval: true,
  approvals: 2,
  execute: ({ text }) => {
    ran.push(`sign ${text}`);
    return { signed: text };
  },
});

const write = defineTool({
  name: 'write',
  description: 'Writes, and also where it is told while it works.',
  input: z.object({ path: z.string(), also: z.string().optional() }),
  output: z.string(),
  effect: 'idempotent',
  capabilities: ({ path }) => [`fs:write:${path}`],
  execute: ({ path, also }, { require }) => {
    if (also !== undefined) require(`fs:write:${also}`);
    ran.push(`write ${path}`);
    return 'written';
  },
});

const quick = defineTool({
  name: 'quick',
  description: 'Must be approved at once.',
  input: z.object({}),
  output: z.string(),
  approval: true,
  approvalExpiresInMs: 700,
  execute: () => {
    ran.push('quick');
    return 'ran';
  },
});

const odd = defineTool({
  name: 'odd',
  description: 'Fails, or is slow.',
  input: z.object({ how: z.enum(['fail', 'slow']) }),
  output: z.string(),
  effect: 'pure',
  execute: async ({ how }) => {
    if (how === 'fail') throw new Error('the disk is on fire');
    await new Promise((resolve) => setTimeout(resolve, 200));
    return 'at last';
  },
});

const plain = tool({
  name: 'plain',
  description: 'A tool of a plain SDK program.',
  parameters: z.object({ n: z.number() }),
  needsApproval: true,
  execute: async ({ n }) => {
    ran.push(`plain ${n}`);
    return `plain ${n}`;
  },
});

const agent = (
  name: string,
  outputs: Parameters<typeof scripted>[0],
  grants: Parameters<typeof defineAgent>[0]['grants'],
) =>
  defineAgent({
    agent: new Agent({ name, model: scripted(outputs), tools: [pay, sign, write, plain, odd, quick] }),
    grants: grants ?? [],
    onDenied: 'tell',
  });

const BANK = ['bank:pay:alice', { capability: 'bank:pay:bob', effect: 'ask' as const }];
const FILES = [{ capability: 'fs:write:/out/**', effect: 'ask' as const }];
const file = (path: string, id: string, also?: string) =>
  call('write', also === undefined ? { path } : { path, also }, id);

const config = {
  agents: [
    agent('payer', [[call('pay', { to: 'alice', amount: 500 }, 'p1')]], BANK),
    agent(
      'two payments',
      [[call('pay', { to: 'alice', amount: 500 }, 'p1')], [call('pay', { to: 'alice', amount: 600 }, 'p2')]],
      BANK,
    ),
    agent('quick', [[call('quick', {}, 'q1')]], ['tool:call:quick']),
    agent(
      'mixed',
      [
        [
          ...[call('pay', { to: 'alice', amount: 500 }, 'g1'), call('odd', { how: 'slow' }, 's1')],
          ...[call('pay', { to: 'mallory', amount: 1 }, 'd1'), call('pay', { to: 'alice', amount: 600 }, 'g2')],
          ...[call('odd', { how: 'fail' }, 'f1'), call('pay', { to: 'alice', amount: 5 }, 'a1')],
          call('pay', { to: 'bob', amount: 7 }, 'g3'),
        ],
      ],
      [...BANK, 'tool:call:odd'],
    ),
    agent('plain', [[call('plain', { n: 1 }, 'n1')]], ['tool:call:plain']),
    agent('signer', [[call('sign', { text: 'lease' }, 's1')]], ['tool:call:sign']),
    agent('writer', [[file('/out/a', 'w1')], [file('/out/a', 'w2')], [file('/out/b', 'w3')]], FILES),
    agent(
      'sneaky writer',
      [[file('/out/a', 'w1')], [file('/out/a', 'w2', '/out/x')], [file('/out/a', 'w3', '/etc/x')]],
      FILES,
    ),
  ],
};

describeEachDatabase('decisions', (kind) => {
  const t = engineFor(kind, config);
  beforeEach(() => {
    ran.length = 0;
  });

  const pendingOf = async (runId: string) =>
    (await t.engine.listInterruptions({ status: 'pending', runId, limit: 50 }, BOB)).items;
  const paused = async (name: string) => {
    const run = await runToRest(t.engine, name);
    expect(run.status).toBe('paused');
    const [interruption] = await pendingOf(run.id);
    if (interruption === undefined) throw new Error('nothing waits');
    return { run, interruption };
  };
  const rest = (runId: string) => restOf(t.engine, runId);

  describe('edited arguments', () => {
    it('are what the tool gets and the model reads; original, edit and difference are kept', async () => {
      const { run, interruption } = await paused('two payments');
      const edited = { to: 'alice', amount: 400 };
      const decided = await t.engine.decide(
        interruption.id,
        { verdict: 'approve', arguments: edited, digest: interruption.digest },
        BOB,
      );
      const difference = [{ op: 'replace', path: '/amount', value: 400 }];
      expect(decided).toMatchObject({
        ...{ status: 'approved', arguments: { to: 'alice', amount: 500 }, capabilities: ['bank:pay:alice'] },
        decisions: [{ edit: { arguments: edited, difference } }],
      });
      // Another restart between: the next pause is of a state with the edit in it.
      expect(await rest(run.id)).toMatchObject({ status: 'paused' });
      await t.restart();
      const done = await decideAndRest(t.engine, run.id, { verdict: 'approve' });
      expect(done).toMatchObject({ status: 'completed', output: 'p1={"paid":400} | p2={"paid":600}' });
      expect(ran).toEqual(['pay alice 400', 'pay alice 600']);
      const [event] = await dataOf(t.engine, run.id, 'interruption.decided');
      const digest = decided.decisions[0]?.edit?.digest;
      expect(event).toMatchObject({ digest: interruption.digest, edit: { arguments: edited, difference, digest } });
      const checked = (await dataOf(t.engine, run.id, 'call.checked')).filter((one) => one['callId'] === 'p1');
      expect(checked).toMatchObject([
        { arguments: { amount: 500 }, digest: interruption.digest },
        { arguments: edited, digest, decision: 'ask' },
      ]);
      expect(digest).not.toBe(interruption.digest);
      expect(await t.engine.verifyRun(run.id, ADMIN)).toMatchObject({ ok: true, complete: true });
      // A fork right after the decision asks again, about the arguments of the model, and executes nothing.
      const log = await eventsOf(t.engine, run.id);
      const at = log.find((one) => one.kind === 'interruption.decided')?.seq ?? 0;
      const before = [...ran];
      const fork = await t.engine.forkRun(run.id, { at }, ADMIN);
      expect(await rest(fork.id)).toMatchObject({ status: 'paused', error: null });
      const { items } = await t.engine.listInterruptions({ runId: fork.id, status: 'pending', limit: 5 }, BOB);
      expect(items).toMatchObject([{ callId: 'p1', arguments: { amount: 500 } }]);
      expect(ran).toEqual(before);
      await t.engine.cancelRun(fork.id, null, ADMIN);
      const { steps } = await t.engine.getTrajectory(run.id, ADMIN);
      expect(steps[0]?.action.calls).toMatchObject([{ callId: 'p1', arguments: edited }]);
    });

    it.runIf(SLOW)('that do not fit, or need what the run is not granted, decide nothing', async () => {
      const { run, interruption } = await paused('payer');
      const approve = (args: unknown) =>
        t.engine.decide(interruption.id, { verdict: 'approve', arguments: args as never }, BOB);
      await expect(approve({ to: 'alice', amount: -1 })).rejects.toMatchObject({
        code: 'invalid_request',
        fields: [{ pointer: '/arguments', detail: expect.stringContaining('amount') }],
      });
      await expect(approve([1])).rejects.toMatchObject({ code: 'invalid_request' });
      await expect(approve({ to: 'mallory', amount: 1 })).rejects.toMatchObject({
        code: 'capability_denied',
        message: expect.stringContaining('bank:pay:mallory'),
      });
      expect(await t.engine.getInterruption(interruption.id, BOB)).toMatchObject({ status: 'pending', decisions: [] });
      // A wider scope that asks is what this approval answers; the same arguments are no edit.
      const done = await decideAndRest(t.engine, run.id, {
        verdict: 'approve',
        arguments: { to: 'bob', amount: 5 },
      });
      expect(done).toMatchObject({ status: 'completed', output: 'p1={"paid":5}' });
      expect(ran).toEqual(['pay bob 5']);
      const other = await paused('payer');
      const same = { verdict: 'approve', arguments: { amount: 500, to: 'alice' } } as const;
      const decided = await t.engine.decide(other.interruption.id, same, BOB);
      expect(decided.decisions).toMatchObject([{ edit: null }]);
      expect(await t.engine.decide(other.interruption.id, { verdict: 'approve' }, BOB)).toEqual(decided);
      await rest(other.run.id);
    });

    it('of a plain SDK tool are checked against its JSON schema', async () => {
      const { run, interruption } = await paused('plain');
      const approve = (args: { n: unknown }) =>
        t.engine.decide(interruption.id, { verdict: 'approve', arguments: args as never }, BOB);
      await expect(approve({ n: 'many' })).rejects.toMatchObject({ code: 'invalid_request' });
      await approve({ n: 7 });
      expect(await rest(run.id)).toMatchObject({ status: 'completed', output: 'n1=plain 7' });
    });
  });

  it('of a response with calls of every kind survive restarts, partially, in any order', async () => {
    const run = await runToRest(t.engine, 'mixed');
    expect(run).toMatchObject({ status: 'paused' });
    const decide = async (callId: string, decision: Parameters<typeof t.engine.decide>[1]) => {
      const found = (await pendingOf(run.id)).find((one) => one.callId === callId);
      await t.engine.decide(found?.id ?? '', decision, BOB);
    };
    expect((await pendingOf(run.id)).map((one) => one.callId).sort()).toEqual(['g1', 'g2', 'g3']);
    await decide('g3', { verdict: 'approve' });
    await t.restart();
    await decide('g1', { verdict: 'reject', message: 'no' });
    expect((await rest(run.id)).status).toBe('paused');
    await decide('g2', { verdict: 'approve', arguments: { to: 'alice', amount: 6 } });
    const done = await rest(run.id);
    expect(done.status).toBe('completed');
    const told = new Map(
      String(done.output)
        .split(' | ')
        .map((one) => [one.slice(0, 2), one.slice(3)]),
    );
    expect(Object.fromEntries(told)).toMatchObject({
      ...{ g1: 'no', g2: '{"paid":6}', g3: '{"paid":7}', a1: '{"paid":5}', s1: 'at last' },
      ...{ d1: expect.stringContaining('Not allowed'), f1: expect.stringContaining('the disk is on fire') },
    });
    // Steps start in the model's order; bodies of unsafe calls run when their intents are written.
    const started = (await dataOf(t.engine, run.id, 'call.started')).map((one) => one['callId']);
    expect(started).toEqual(['s1', 'f1', 'a1', 'g2', 'g3']);
    expect(ran.toSorted()).toEqual(['pay alice 5', 'pay alice 6', 'pay bob 7']);
  });

  describe('races', () => {
    it.runIf(SLOW)('of fifty approvers with different edits have one outcome', async () => {
      const { run, interruption } = await paused('payer');
      const tries = await Promise.allSettled(
        Array.from({ length: 50 }, (_, n) => {
          const edit = { verdict: 'approve', arguments: { to: 'alice', amount: n + 1 } } as const;
          return t.engine.decide(interruption.id, edit, approver(`a${n}`));
        }),
      );
      const lost = tries.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
      expect(lost).toHaveLength(49);
      for (const error of lost) expect(error).toMatchObject({ code: 'decision_conflict' });
      const winner = tries.findIndex((one) => one.status === 'fulfilled');
      expect(await rest(run.id)).toMatchObject({ status: 'completed', output: `p1={"paid":${winner + 1}}` });
      expect(ran).toEqual([`pay alice ${winner + 1}`]);
    });

    it.runIf(SLOW)('of an approval and a cancellation have one outcome, which the log explains', async () => {
      for (let n = 0; n < 4; n++) {
        ran.length = 0;
        const { run, interruption } = await paused('payer');
        const approve = () => t.engine.decide(interruption.id, { verdict: 'approve' }, BOB).catch((e: unknown) => e);
        const cancel = () => t.engine.cancelRun(run.id, null, ADMIN).catch((e: unknown) => e);
        const [decided] =
          n % 2 === 0 ? await Promise.all([approve(), cancel()]) : (await Promise.all([cancel(), approve()])).reverse();
        let over = await rest(run.id);
        for (let more = 0; over.status === 'running' && more < 50; more++) over = await rest(run.id);
        const settled = await dataOf(t.engine, run.id, 'interruption.decided');
        expect(settled).toHaveLength(1);
        if (decided instanceof Error) {
          expect(decided).toMatchObject({ code: 'interruption_cancelled' });
          expect(settled).toMatchObject([{ verdict: 'cancel' }]);
          expect(ran).toEqual([]);
        } else expect(settled).toMatchObject([{ verdict: 'approve' }]);
        expect(['cancelled', 'completed']).toContain(over.status);
        expect(await t.engine.verifyRun(run.id, ADMIN)).toMatchObject({ ok: true, complete: true });
      }
    });

    it.runIf(SLOW)('of an approval and an expiry have one outcome', async () => {
      for (const delayMs of [0, 650, 720, 1200]) {
        ran.length = 0;
        const run = await runToRest(t.engine, 'quick');
        const [interruption] = (await t.engine.listInterruptions({ runId: run.id, limit: 1 }, BOB)).items;
        await new Promise((resolve) => setTimeout(resolve, delayMs));
        const approve = t.engine.decide(interruption?.id ?? '', { verdict: 'approve' }, BOB);
        const won = await approve.then(
          () => true,
          (error: unknown) => {
            expect(error).toMatchObject({ code: 'interruption_expired' });
            return false;
          },
        );
        for (let tries = 0; tries < 40 && (await rest(run.id)).status === 'paused'; tries++)
          await new Promise((resolve) => setTimeout(resolve, 100));
        expect(await rest(run.id)).toMatchObject({ status: 'completed' });
        expect(ran).toEqual(won ? ['quick'] : []);
        expect(await dataOf(t.engine, run.id, 'interruption.decided')).toMatchObject([
          { verdict: won ? 'approve' : 'expire' },
        ]);
      }
    });
  });

  it('the inbox is filtered, and pages neither skip nor repeat', async () => {
    const runs = [await runToRest(t.engine, 'mixed'), await runToRest(t.engine, 'signer')];
    const page = (cursor?: string) =>
      t.engine.listInterruptions(
        {
          agent: 'mixed',
          tool: 'pay',
          kind: 'approval',
          status: 'pending',
          limit: 2,
          ...(cursor === undefined ? {} : { cursor }),
        },
        BOB,
      );
    const seen: string[] = [];
    for (let next: string | null | undefined; next !== null; ) {
      const { items, nextCursor } = await page(next ?? undefined);
      seen.push(...items.map((one) => `${one.callId}`));
      next = nextCursor;
    }
    expect(seen.sort()).toEqual(['g1', 'g2', 'g3']);
    const soon = await t.engine.listInterruptions({ status: 'pending', expiresBefore: new Date(), limit: 50 }, BOB);
    expect(soon.items).toEqual([]);
    for (const { id } of runs) await t.engine.cancelRun(id, null, ADMIN);
  });

  describe('several approvers', () => {
    it('each count once, in any order, and the last one settles', async () => {
      const { run, interruption } = await paused('signer');
      expect(interruption.requiredApprovals).toBe(2);
      const first = await t.engine.decide(interruption.id, { verdict: 'approve' }, approver('a'));
      expect(first).toMatchObject({ status: 'pending', decisions: [{ actor: 'a', verdict: 'approve' }] });
      expect(await t.engine.decide(interruption.id, { verdict: 'approve' }, approver('a'))).toEqual(first);
      expect((await rest(run.id)).status).toBe('paused');
      await t.engine.decide(interruption.id, { verdict: 'approve', message: 'read it' }, approver('b'));
      expect(await rest(run.id)).toMatchObject({ status: 'completed' });
      expect(ran).toEqual(['sign lease']);
      expect(await dataOf(t.engine, run.id, 'interruption.voted')).toMatchObject([{ vote: 1, actor: 'a' }]);
      expect(await dataOf(t.engine, run.id, 'interruption.decided')).toMatchObject([
        { actor: 'b', message: 'read it' },
      ]);
      // The first voice repeated gets what came of it.
      expect(await t.engine.decide(interruption.id, { verdict: 'approve' }, approver('a'))).toMatchObject({
        status: 'approved',
        decisions: [{ actor: 'a' }, { actor: 'b' }],
      });
    });

    it.runIf(SLOW)('approve the same edit; one rejection settles, also of someone who approved', async () => {
      const { run, interruption } = await paused('signer');
      const edited = { verdict: 'approve', arguments: { text: 'sublease' } } as const;
      await t.engine.decide(interruption.id, edited, approver('a'));
      for (const other of [{ verdict: 'approve' }, { verdict: 'approve', arguments: { text: 'x' } }] as const) {
        await expect(t.engine.decide(interruption.id, other, approver('b'))).rejects.toMatchObject({
          code: 'decision_conflict',
          message: expect.stringContaining('sublease'),
        });
      }
      await expect(t.engine.decide(interruption.id, { verdict: 'approve' }, approver('a'))).rejects.toMatchObject({
        code: 'decision_conflict',
      });
      await t.engine.decide(interruption.id, edited, approver('b'));
      expect(await rest(run.id)).toMatchObject({ status: 'completed', output: 's1={"signed":"sublease"}' });
      const rejected = await paused('signer');
      await t.engine.decide(rejected.interruption.id, { verdict: 'approve' }, approver('a'));
      const view = await t.engine.decide(rejected.interruption.id, { verdict: 'reject' }, approver('a'));
      expect(view).toMatchObject({ status: 'rejected', decisions: [{ verdict: 'approve' }, { verdict: 'reject' }] });
      expect(await rest(rejected.run.id)).toMatchObject({ status: 'completed' });
      expect(ran).toEqual(['sign sublease']);
      const cancelled = await paused('signer');
      await t.engine.decide(cancelled.interruption.id, { verdict: 'approve' }, approver('a'));
      expect(await t.engine.cancelRun(cancelled.run.id, null, ADMIN)).toMatchObject({ status: 'cancelled' });
    });
  });

  describe('standing decisions', () => {
    it.runIf(SLOW)('approve later calls that need the same, are visible, and can be revoked', async () => {
      const { run, interruption } = await paused('writer');
      await t.engine.decide(interruption.id, { verdict: 'approve', always: true }, BOB);
      // w2 needs what w1 needed; w3 does not.
      expect(await rest(run.id)).toMatchObject({ status: 'paused' });
      expect(ran).toEqual(['write /out/a', 'write /out/a']);
      const [made] = (await t.engine.listStandingDecisions(run.id, { limit: 50 }, BOB)).items;
      expect(made).toMatchObject({
        ...{ interruptionId: interruption.id, tool: 'write', scope: ['fs:write:/out/a'], exact: true, actor: 'bob' },
        revokedAt: null,
      });
      const checked = await dataOf(t.engine, run.id, 'call.checked');
      expect(checked.filter((one) => one['callId'] === 'w2')).toMatchObject([
        { decision: 'allow', standingDecision: made?.id, checks: [{ effect: 'ask', rule: 'fs:write:/out/**' }] },
      ]);
      expect(checked.filter((one) => one['callId'] === 'w1')[1]).not.toHaveProperty('standingDecision');
      const revoked = await t.engine.revokeStandingDecision(run.id, made?.id ?? '', ADMIN);
      expect(revoked).toMatchObject({ revokedBy: 'ada', revokedAt: expect.any(String) });
      expect(await t.engine.revokeStandingDecision(run.id, made?.id ?? '', BOB)).toEqual(revoked);
      await expect(t.engine.revokeStandingDecision(run.id, 'std_none', BOB)).rejects.toMatchObject({
        code: 'standing_decision_unknown',
      });
      await expect(
        t.engine.listStandingDecisions(run.id, { limit: 50 }, { ...BOB, tenant: 'other' }),
      ).rejects.toMatchObject({
        code: 'run_unknown',
      });
      expect(await decideAndRest(t.engine, run.id, { verdict: 'approve' })).toMatchObject({ status: 'completed' });
      const kinds = await kindsOf(t.engine, run.id);
      for (const one of ['standing_decision.made', 'standing_decision.revoked'])
        expect(kinds.filter((name) => name === one)).toHaveLength(1);
      expect(await t.engine.verifyRun(run.id, ADMIN)).toMatchObject({ ok: true, complete: true });
    });

    it('take effect until the segment after they were revoked, and may cover a wider scope', async () => {
      const { run, interruption } = await paused('writer');
      const always = (scope: string[]) => ({ verdict: 'approve', always: { scope } }) as const;
      for (const [scope, code] of [
        [['fs:write:/other/**'], 'invalid_request'],
        [['no capability'], 'capability_invalid'],
        [['*:*:*'], 'capability_invalid'],
      ] as const)
        await expect(t.engine.decide(interruption.id, always([...scope]), BOB)).rejects.toMatchObject({
          code,
          fields: [{ pointer: expect.stringMatching(/^\/always/) }],
        });
      await t.engine.decide(interruption.id, always(['fs:write:/out/**']), BOB);
      expect(await rest(run.id)).toMatchObject({ status: 'completed' });
      expect(ran).toEqual(['write /out/a', 'write /out/a', 'write /out/b']);
      const [made] = (await t.engine.listStandingDecisions(run.id, { limit: 50 }, BOB)).items;
      await expect(t.engine.revokeStandingDecision(run.id, made?.id ?? '', BOB)).rejects.toMatchObject({
        code: 'run_over',
      });
    });

    it('reach no further than their scope, also while a tool works', async () => {
      const { run, interruption } = await paused('sneaky writer');
      await t.engine.decide(interruption.id, { verdict: 'approve', always: true }, BOB);
      const done = await rest(run.id);
      expect(done).toMatchObject({ status: 'completed' });
      expect(done.output).toMatch(/w2=.*fs:write:\/out\/x.*w3=.*fs:write:\/etc\/x/);
      expect(ran).toEqual(['write /out/a']);
    });
  });
});
