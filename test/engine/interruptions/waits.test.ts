import { Agent, tool } from '@openai/agents';
import { beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, waitFor } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, BOB, decideAndRest, engineFor, kindsOf, restOf, runToRest } from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

/** A call that finds in its own body that it must wait. Crashes: the crash matrix. */

let ran: string[] = [];

const input = z.object({ n: z.number() });

/** Counts how often the body of each call ran. */
const note = (what: string): void => {
  ran.push(what);
};

const sibling = defineTool({
  ...{ name: 'sibling', description: 'Does one thing.', input, output: z.object({ done: z.number() }) },
  execute: ({ n }) => {
    note(`sibling ${n}`);
    return { done: n };
  },
});

const choose = defineTool({
  ...{ name: 'choose', description: 'Asks which account.', input, output: z.enum(['a', 'b']) },
  execute: ({ n }) => {
    note(`choose ${n}`);
    return waitFor({ kind: 'question', text: 'Which account?', choices: ['a', 'b', 'c'] });
  },
});

/** Begins something, asks, waits a moment, and ends it: what it knows goes with its waits. */
const stages = defineTool({
  ...{ name: 'stages', description: 'Works in stages.', input, output: z.object({ trail: z.array(z.string()) }) },
  execute: ({ n }) => {
    note(`stages ${n}`);
    return waitFor({ kind: 'question', text: 'How many?', schema: { type: 'integer', minimum: 1 }, memo: ['begun'] });
  },
  resume: (_input, settlement) => {
    note(`resume ${settlement.type}`);
    const trail = settlement.memo as string[];
    if (settlement.type === 'answered')
      return waitFor({
        kind: 'timer',
        afterMs: 30,
        memo: [...trail, `answered ${settlement.value} by ${settlement.actor}`],
      });
    return { trail: [...trail, settlement.type] };
  },
});

/** A tool of a plain SDK program. */
const plain = tool({
  ...{ name: 'plain', description: 'Asks.', parameters: input },
  execute: async () => waitFor({ kind: 'question', text: 'Really?' }),
});

const faulty = defineTool({
  ...{ name: 'faulty', description: 'Asks nonsense.', input, output: z.string() },
  execute: () => waitFor({ kind: 'question', text: 'What?', schema: { type: 'nonsense' } }),
});

const forgetful = defineTool({
  ...{ name: 'forgetful', description: 'Asks in a hurry.', input, output: z.string() },
  execute: () => waitFor({ kind: 'question', text: 'Quick?', expiresInMs: 1 }),
});

const gated = defineTool({
  ...{ name: 'gated', description: 'Needs an approval, then asks.', input, output: z.string(), approval: true },
  execute: ({ n }) => {
    note(`gated ${n}`);
    return waitFor({ kind: 'question', text: 'And then?' });
  },
});

/** Does not come back once. */
let hangs = false;
const doubtful = defineTool({
  ...{ name: 'doubtful', description: 'May hang.', input, output: z.string(), timeoutMs: 60 },
  execute: ({ n }) => {
    note(`doubtful ${n}`);
    if (!hangs) return 'done';
    hangs = false;
    return new Promise<never>(() => {});
  },
});

const tools = [sibling, choose, stages, plain, faulty, forgetful, gated, doubtful];
const agent = (name: string, outputs: Parameters<typeof scripted>[0]) =>
  defineAgent({ agent: new Agent({ name, model: scripted(outputs), tools }), grants: ['tool:call:*'] });

const config = {
  agents: [
    agent('one', [[call('sibling', { n: 1 }, 's1'), call('choose', { n: 2 }, 'c'), call('sibling', { n: 3 }, 's3')]]),
    agent('two', [[call('choose', { n: 1 }, 'c1'), call('choose', { n: 2 }, 'c2')]]),
    agent('stages', [[call('stages', { n: 1 }), call('sibling', { n: 2 })]]),
    agent('plain', [[call('plain', { n: 1 })]]),
    agent('faulty', [[call('faulty', { n: 1 })]]),
    agent('forgetful', [[call('forgetful', { n: 1 })]]),
    agent('mixed', [
      [
        ...[call('gated', { n: 1 }, 'g'), call('choose', { n: 2 }, 'c')],
        ...[call('doubtful', { n: 3 }, 'd'), call('sibling', { n: 4 }, 's')],
      ],
    ]),
  ],
};

it('only a sub-agent waits for a run: no one else is told of its end', () => {
  expect(() => waitFor({ kind: 'child_run', runId: 'run_1' } as never)).toThrow(/only a sub-agent waits for a run/);
});

describeEachDatabase('waits inside calls', (kind) => {
  const t = engineFor(kind, config);
  beforeEach(() => {
    ran = [];
    hangs = false;
  });

  const waiting = async (runId: string, tool?: string) => {
    const { items } = await t.engine.listInterruptions({ status: 'pending', runId, limit: 10 }, BOB);
    return items.filter((item) => tool === undefined || item.tool === tool);
  };
  const verified = async (runId: string) =>
    expect(await t.engine.verifyRun(runId, ADMIN)).toMatchObject({ ok: true, complete: true });

  it('a question pauses the run, and its answer is the output; siblings never run again', async () => {
    const paused = await runToRest(t.engine, 'one');
    expect(paused.status).toBe('paused');
    const [question] = await waiting(paused.id);
    expect(question).toMatchObject({
      kind: 'question',
      tool: 'choose',
      reason: { code: 'question', text: 'Which account?' },
      wait: { kind: 'question', text: 'Which account?', choices: ['a', 'b', 'c'], schema: null },
      verdicts: ['answer', 'reject'],
    });
    const done = await decideAndRest(t.engine, paused.id, { verdict: 'answer', value: 'b' });
    expect(done).toMatchObject({ status: 'completed', output: 's1={"done":1} | c=b | s3={"done":3}' });
    expect(ran.toSorted()).toEqual(['choose 2', 'sibling 1', 'sibling 3']);
    await verified(paused.id);
  });

  it('an answer must be one of the choices, and what the tool could have returned', async () => {
    const paused = await runToRest(t.engine, 'one');
    const [question] = await waiting(paused.id);
    const answer = (value: string) => t.engine.decide(question?.id ?? '', { verdict: 'answer', value }, BOB);
    await expect(answer('z')).rejects.toMatchObject({ code: 'invalid_request', fields: [{ pointer: '/value' }] });
    await expect(answer('c')).rejects.toMatchObject({ code: 'invalid_request', message: /does not return/ });
    expect((await answer('a')).status).toBe('answered');
  });

  it('declined, the model reads why', async () => {
    const paused = await runToRest(t.engine, 'one');
    const done = await decideAndRest(t.engine, paused.id, { verdict: 'reject', message: 'Not your business.' });
    expect(done.output).toContain('c=Not your business.');
    expect(ran).toHaveLength(3);
  });

  it('no one answers in time: the model reads that', async () => {
    const { id } = await t.engine.startRun({ agent: 'forgetful', input: 'go' }, ADMIN);
    await expect
      .poll(() => t.engine.getRun(id, ADMIN))
      .toMatchObject({
        status: 'completed',
        output: 'call_forgetful=forgetful got no answer in time.',
      });
    await verified(id);
  });

  it('two waits in one response, answered in any order', async () => {
    const paused = await runToRest(t.engine, 'two');
    const items = await waiting(paused.id);
    expect(items.map((item) => item.callId).sort()).toEqual(['c1', 'c2']);
    for (const item of items.toReversed())
      await t.engine.decide(item.id, { verdict: 'answer', value: item.callId === 'c1' ? 'a' : 'b' }, BOB);
    const done = await restOf(t.engine, paused.id);
    expect(done).toMatchObject({ status: 'completed', output: 'c1=a | c2=b' });
    expect(ran.toSorted()).toEqual(['choose 1', 'choose 2']);
  });

  it('a tool goes on where it waited, across restarts, and may wait again', async () => {
    const paused = await runToRest(t.engine, 'stages');
    const [question] = await waiting(paused.id);
    await t.restart();
    const decide = (value: number) => t.engine.decide(question?.id ?? '', { verdict: 'answer', value }, BOB);
    await expect(decide(0)).rejects.toMatchObject({ code: 'invalid_request', fields: [{ pointer: '/value' }] });
    await decide(7);
    await expect
      .poll(() => t.engine.getRun(paused.id, ADMIN))
      .toMatchObject({
        status: 'completed',
        output: 'call_stages={"trail":["begun","answered 7 by bob","due"]} | call_sibling={"done":2}',
      });
    expect(ran.slice(0, 2).toSorted()).toEqual(['sibling 2', 'stages 1']);
    expect(ran.slice(2)).toEqual(['resume answered', 'resume due']);
    const kinds = (await kindsOf(t.engine, paused.id)).filter((one) => /interruption|call.finished/.test(one));
    expect(kinds).toEqual([
      ...['call.finished', 'interruption.requested', 'interruption.decided'],
      ...['interruption.requested', 'interruption.decided', 'call.finished'],
    ]);
    await verified(paused.id);
  });

  it('a plain tool of the SDK waits too', async () => {
    const paused = await runToRest(t.engine, 'plain');
    expect(await decideAndRest(t.engine, paused.id, { verdict: 'answer', value: 'Yes.' })).toMatchObject({
      status: 'completed',
      output: 'call_plain=Yes.',
    });
  });

  it('a wait that cannot be is an error that the model reads', async () => {
    const done = await runToRest(t.engine, 'faulty');
    expect(done).toMatchObject({ status: 'completed', output: expect.stringContaining('cannot be answered') });
  });

  it.runIf(SLOW)('a wait, an approval and an unknown effect in one response', async () => {
    hangs = true;
    const paused = await runToRest(t.engine, 'mixed');
    expect((await waiting(paused.id)).map((item) => item.reason.code).sort()).toEqual([
      ...['question', 'tool_rule', 'unknown_effect'],
    ]);
    await t.restart();
    const decide = async (name: string, decision: Parameters<typeof t.engine.decide>[1]) => {
      const [item] = await waiting(paused.id, name);
      await t.engine.decide(item?.id ?? '', decision, BOB);
    };
    await decide('choose', { verdict: 'answer', value: 'a' });
    await decide('gated', { verdict: 'approve' });
    await decide('doubtful', { verdict: 'approve' });
    const again = await restOf(t.engine, paused.id);
    expect(again).toMatchObject({ status: 'paused' });
    await decide('gated', { verdict: 'answer', value: 'Now.' });
    const done = await restOf(t.engine, paused.id);
    expect(done).toMatchObject({ status: 'completed' });
    for (const text of ['g=Now.', 'c=a', 'd=done', 's={"done":4}']) expect(done.output).toContain(text);
    expect(ran.toSorted()).toEqual(['choose 2', 'doubtful 3', 'doubtful 3', 'gated 1', 'sibling 4']);
    await verified(paused.id);
  });

  it('cancelled while it waits, nothing goes on', async () => {
    const paused = await runToRest(t.engine, 'one');
    const [question] = await waiting(paused.id);
    expect(await t.engine.cancelRun(paused.id, null, ADMIN)).toMatchObject({ status: 'cancelled' });
    const late = t.engine.decide(question?.id ?? '', { verdict: 'answer', value: 'a' }, BOB);
    await expect(late).rejects.toMatchObject({ code: 'interruption_cancelled' });
    await verified(paused.id);
  });
});
