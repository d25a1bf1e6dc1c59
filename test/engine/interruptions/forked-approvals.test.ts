import { Agent } from '@openai/agents';
import { beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { type Caller, defineAgent, defineTool, type RunView, waitFor } from '../../../src/index.js';
import { describeBothDatabasesSlowly } from '../../harness/database.js';
import { ADMIN, BOB, engineFor, eventsOf, kindsOf, restOf, runToRest } from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';

/** What people allowed in a run allows nothing in its forks: a fork asks again for each call that it would execute. */

const ANN: Caller = { ...BOB, actor: 'ann' };
let did: string[] = [];
/** Bodies of these tools do not end until their run is stopped. */
let hangs = false;
let happened: boolean | 'unknown' = 'unknown';

const input = z.object({ n: z.number() });
const shape = { description: 'Does something.', input, output: z.string() };
const body =
  (name: string) =>
  async ({ n }: { n: number }, { signal }: { signal: AbortSignal }): Promise<string> => {
    did.push(`${name} ${n}`);
    if (hangs) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))));
    return `${name} ${n}`;
  };
const pay = defineTool({ ...shape, name: 'pay', approval: true, execute: body('pay') });
const both = defineTool({ ...shape, name: 'both', approval: true, approvals: 2, execute: body('both') });
const sign = defineTool({ ...shape, name: 'sign', effect: 'pure', approval: true, execute: body('sign') });
const send = defineTool({
  ...{ ...shape, name: 'send', approval: true, onUnknownEffect: 'probe', execute: body('send') },
  probe: async () => (happened === true ? { happened, output: 'it was sent' } : { happened }),
});
const nap = defineTool({
  ...{ ...shape, name: 'nap', approval: true, execute: () => waitFor({ kind: 'timer', afterMs: 10, memo: 'm' }) },
  resume: async ({ n }, { type, memo }, context) => `${await body('nap')({ n }, context)} ${type} ${memo}`,
});
const ask = defineTool({
  ...{ ...shape, name: 'ask', effect: 'pure', execute: () => waitFor({ kind: 'question', text: 'Which?', memo: 'm' }) },
  resume: async ({ n }, settlement, context) =>
    `${await body('ask')({ n }, context)} ${settlement.type === 'answered' ? settlement.value : settlement.type}`,
});

const tools = [pay, both, sign, send, nap, ask];
const agent = (name: string, outputs: Parameters<typeof scripted>[0]) =>
  defineAgent({ agent: new Agent({ name, model: scripted(outputs), tools }), grants: ['tool:call:*'] });
const config = {
  agents: [
    agent('pays', [[call('pay', { n: 1 }, 'a')]]),
    agent('boths', [[call('both', { n: 1 }, 'a')]]),
    agent('pair', [[call('pay', { n: 1 }, 'a'), call('pay', { n: 2 }, 'b')]]),
    agent('stands', [[call('pay', { n: 1 }, 'a')], [call('pay', { n: 2 }, 'b'), call('pay', { n: 3 }, 'c')]]),
    agent('signs', [[call('sign', { n: 1 }, 'a')]]),
    agent('sends', [[call('send', { n: 1 }, 'a')]]),
    agent('naps', [[call('nap', { n: 1 }, 'a')]]),
    agent('asks', [[call('ask', { n: 1 }, 'a')]]),
  ],
};

describeBothDatabasesSlowly('approvals and forks', (kind) => {
  const t = engineFor(kind, config);
  beforeEach(() => {
    did = [];
    hangs = false;
    happened = 'unknown';
  });

  const rest = (id: string) => restOf(t.engine, id);
  const seqsOf = async (id: string, name: string) =>
    (await eventsOf(t.engine, id)).flatMap(({ kind: one, seq }) => (one === name ? [seq] : []));
  const lastOf = async (id: string, name: string) => (await seqsOf(id, name)).at(-1) ?? 0;
  const fork = async (id: string, at: number) => rest((await t.engine.forkRun(id, { at }, ADMIN)).id);
  const pendingOf = async ({ id: runId }: RunView) =>
    (await t.engine.listInterruptions({ status: 'pending', runId, limit: 10 }, BOB)).items;
  const approve = async (run: RunView, ...people: Caller[]) => {
    for (const { id } of await pendingOf(run))
      for (const one of people) await t.engine.decide(id, { verdict: 'approve' }, one);
    return rest(run.id);
  };
  const verified = async ({ id }: RunView) => expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true });
  const replayed = async ({ id }: RunView) =>
    expect(await t.engine.replayRun(id, {}, ADMIN)).toMatchObject({ result: 'same' });
  /** Begins a body that hangs, and stops its run. */
  const stopped = async (agentName: string, decideOn: (run: RunView) => Promise<unknown>) => {
    const paused = await runToRest(t.engine, agentName);
    did = [];
    hangs = true;
    const decided = decideOn(paused);
    await expect.poll(() => did.length).toBe(1);
    await t.engine.cancelRun(paused.id, null, ADMIN);
    await decided;
    const run = await rest(paused.id);
    expect(run.status).toBe('cancelled');
    hangs = false;
    did = [];
    return run;
  };

  it('an approval counts once: each fork asks again, and says who approved', async () => {
    const source = await approve(await runToRest(t.engine, 'pays'), BOB);
    expect(source).toMatchObject({ status: 'completed', output: 'a=pay 1' });
    const decided = await lastOf(source.id, 'interruption.decided');
    for (const at of [decided, decided + 1, decided + 2]) {
      const run = await fork(source.id, at);
      expect(run, `at ${at}`).toMatchObject({ status: 'paused' });
      expect(await pendingOf(run)).toMatchObject([
        {
          callId: 'a',
          reason: { code: 'tool_rule', text: expect.stringContaining(`was approved in run ${source.id} by bob`) },
        },
      ]);
      expect(did).toEqual(['pay 1']);
      // A fork of the fork asks, too, and names the run in which it was approved.
      const again = await fork(run.id, await lastOf(run.id, 'interruption.decided'));
      expect(await pendingOf(again)).toMatchObject([
        { reason: { text: expect.stringContaining(`was approved in run ${source.id} by bob`) } },
      ]);
      await replayed(run);
      await verified(again);
    }
    const run = await approve(await fork(source.id, decided), ANN);
    expect(run).toMatchObject({ status: 'completed', output: 'a=pay 1' });
    expect(did).toEqual(['pay 1', 'pay 1']);
    await verified(run);
    await replayed(run);
    // A call whose outcome is taken over is not executed, and no one is asked.
    expect(await fork(run.id, await lastOf(run.id, 'call.finished'))).toMatchObject({ status: 'completed' });
    expect(did).toHaveLength(2);
    // What the fork's own approver allowed is as little the fork of the fork's.
    const third = await fork(run.id, await lastOf(run.id, 'interruption.decided'));
    expect(await pendingOf(third)).toMatchObject([
      { reason: { text: expect.stringContaining(`was approved in run ${run.id} by ann`) } },
    ]);
    expect(did).toHaveLength(2);
  });

  it('two approvals are two again', async () => {
    const source = await approve(await runToRest(t.engine, 'boths'), BOB, ANN);
    expect(source.status).toBe('completed');
    const run = await fork(source.id, await lastOf(source.id, 'interruption.decided'));
    expect(await pendingOf(run)).toMatchObject([
      { requiredApprovals: 2, decisions: [], reason: { text: expect.stringContaining('by bob, ann') } },
    ]);
    expect((await approve(run, BOB)).status).toBe('paused');
    expect(did).toEqual(['both 1']);
    expect(await approve(run, ANN)).toMatchObject({ status: 'completed' });
    expect(did).toEqual(['both 1', 'both 1']);
  });

  it('edited arguments are not those of the fork', async () => {
    const paused = await runToRest(t.engine, 'pays');
    await t.engine.decide(paused.interruptions[0] ?? '', { verdict: 'approve', arguments: { n: 7 } }, BOB);
    const source = await rest(paused.id);
    expect(source.output).toBe('a=pay 7');
    const decided = await lastOf(source.id, 'interruption.decided');
    for (const at of [decided, decided + 2]) {
      const run = await fork(source.id, at);
      expect(await pendingOf(run)).toMatchObject([{ arguments: { n: 1 } }]);
      expect(await approve(run, BOB)).toMatchObject({ status: 'completed', output: 'a=pay 1' });
      await verified(run);
      await replayed(run);
    }
    expect(did).toEqual(['pay 7', 'pay 1', 'pay 1']);
  });

  it('of two calls that were approved, each that was begun or has an outcome is not asked for', async () => {
    const source = await approve(await runToRest(t.engine, 'pair'), BOB);
    expect(source.status).toBe('completed');
    const [first = 0] = await seqsOf(source.id, 'call.started');
    // The first was begun, the second was about to begin; the source knows what came of both.
    const run = await fork(source.id, first);
    expect(run).toMatchObject({ status: 'completed', output: source.output });
    expect([...did].sort()).toEqual(['pay 1', 'pay 2']);
    await verified(run);
    await replayed(run);
  });

  it('a decision that stands does not stand in a fork, wherever it begins', async () => {
    const paused = await runToRest(t.engine, 'stands');
    await t.engine.decide(paused.interruptions[0] ?? '', { verdict: 'approve', always: true }, BOB);
    const source = await rest(paused.id);
    expect(source.status).toBe('completed');
    const made = await lastOf(source.id, 'standing_decision.made');
    const finished = await seqsOf(source.id, 'call.finished');
    for (let at = made; at < (finished[1] ?? 0); at++) {
      did = [];
      let run = await fork(source.id, at);
      const [own] = (await t.engine.listStandingDecisions(run.id, { limit: 50 }, BOB)).items;
      expect(own, `at ${at}`).toMatchObject({ revokedBy: 'holdfast', revokedAt: expect.any(String) });
      expect(did, `at ${at}`).toEqual([]);
      while (run.status === 'paused') {
        for (const one of await pendingOf(run))
          if (one.reason.text.includes('run_')) expect(one.reason.text).toContain(`in run ${source.id} by bob`);
        run = await approve(run, ANN);
      }
      expect(run, `at ${at} ${JSON.stringify(run.error)}`).toMatchObject({ output: source.output });
      await verified(run);
      await replayed(run);
    }
    // The operator's own answer in place of the model's is asked for.
    const edits = [{ turn: 2, output: [call('pay', { n: 999 }, 'x')] }];
    const { id } = await t.engine.forkRun(source.id, { at: finished[2] ?? 0, edits }, ADMIN);
    did = [];
    expect(await pendingOf(await rest(id))).toMatchObject([{ callId: 'x', arguments: { n: 999 } }]);
    expect(did).toEqual([]);
  });

  it('a call that was begun by an approval and has no outcome is asked for, whatever its effect', async () => {
    for (const name of ['signs', 'sends', 'pays']) {
      const source = await stopped(name, (run) => approve(run, BOB));
      happened = false;
      for (const at of [await lastOf(source.id, 'call.started'), (await eventsOf(t.engine, source.id)).length]) {
        did = [];
        const run = await fork(source.id, at);
        expect(await pendingOf(run), name).toMatchObject([
          {
            callId: 'a',
            reason: {
              code: 'unknown_effect',
              text: expect.stringContaining(`was approved in run ${source.id} by bob`),
            },
          },
        ]);
        expect(did, name).toEqual([]);
        expect(await approve(run, ANN), name).toMatchObject({ status: 'completed' });
        expect(did, name).toHaveLength(1);
        await verified(run);
        await replayed(run);
        // The approval of the unknown effect is of that run alone, too.
        const again = await fork(run.id, await lastOf(run.id, 'interruption.decided'));
        expect(again, name).toMatchObject({ status: 'completed' });
        expect(did, name).toHaveLength(1);
        happened = false;
      }
    }
    happened = true;
    const source = await stopped('sends', (run) => approve(run, BOB));
    const found = await fork(source.id, await lastOf(source.id, 'call.started'));
    expect(found).toMatchObject({ status: 'completed', output: 'a=it was sent' });
    expect(did).toEqual([]);
  });

  it('a call that waited by an approval does not go on by it', async () => {
    const source = await runToRest(t.engine, 'naps');
    const run = await approve(source, BOB);
    await expect.poll(async () => (await rest(run.id)).status).toBe('completed');
    const paused = await lastOf(source.id, 'run.paused');
    did = [];
    const forked = await fork(source.id, paused);
    await expect
      .poll(async () => (await pendingOf(forked)).map(({ reason }) => reason.code))
      .toEqual(['unknown_effect']);
    expect(did).toEqual([]);
    const over = await approve(forked, ANN);
    expect(over).toMatchObject({ status: 'completed', output: 'a=nap 1 due m' });
    expect(did).toEqual(['nap 1']);
    await verified(over);
    await replayed(over);
  });

  it('an answer that would let a tool go on is asked for again', async () => {
    const answer = async (run: RunView, value: string) => {
      for (const { id } of await pendingOf(run)) await t.engine.decide(id, { verdict: 'answer', value }, BOB);
      return rest(run.id);
    };
    const source = await stopped('asks', (run) => answer(run, 'red'));
    const run = await fork(source.id, await lastOf(source.id, 'interruption.decided'));
    expect(await pendingOf(run)).toMatchObject([
      { kind: 'question', reason: { text: expect.stringContaining(`was answered in run ${source.id} by bob`) } },
    ]);
    expect(did).toEqual([]);
    expect(await answer(run, 'blue')).toMatchObject({ status: 'completed', output: 'a=ask 1 blue' });
    expect(await kindsOf(t.engine, run.id)).not.toContain('call.unknown');
    await verified(run);
    await replayed(run);
  });
});
