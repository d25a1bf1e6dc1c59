import { Agent } from '@openai/agents';
import { beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, functionModel, type RunView } from '../../../src/index.js';
import { describeEachDatabaseSlowly } from '../../harness/database.js';
import { ADMIN, BOB, engineFor, eventsOf, kindsOf, restOf, runToRest, type TestEngine } from '../../harness/engine.js';
import { call, resultsIn, say, scripted } from '../../harness/script.js';

/** A fork has the log of its source up to an event; nothing of that is asked or executed again. */

let did: string[] = [];
let asked = 0;
let down = false;
let hangs = false;

const input = z.object({ n: z.number() });
const output = z.object({ done: z.string() });

const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', input, output, effect: 'unsafe', timeoutMs: 60 },
  approval: ({ n }) => n > 10 && `${n} is much`,
  execute: async ({ n }, { signal, idempotencyKey }) => {
    did.push(`pay ${n}`);
    keys.push(idempotencyKey);
    if (hangs) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('late'))));
    return { done: `pay ${n}` };
  },
});
const look = defineTool({
  ...{ name: 'look', description: 'Looks.', input, output, effect: 'pure' },
  execute: ({ n }) => {
    did.push(`look ${n}`);
    return { done: `look ${n}` };
  },
});
const sign = defineTool({
  ...{ name: 'sign', description: 'Signs.', input, output, effect: 'pure', approval: true },
  execute: ({ n }) => {
    did.push(`sign ${n}`);
    return { done: `sign ${n}` };
  },
});
let keys: string[] = [];

const grants = ['tool:call:*'];
/** Counts what a model is asked, and does not answer while it is down. */
const counting = (name: string, outputs: Parameters<typeof scripted>[0]) => {
  const model = scripted(outputs);
  return functionModel(name, async (request) => {
    asked++;
    if (down) throw new Error('the model is down');
    return (await model.getResponse(request)).output as never;
  });
};
const agent = (name: string, outputs: Parameters<typeof scripted>[0], tools: Agent['tools'] = [pay, look]) =>
  defineAgent({ agent: new Agent({ name, model: counting(name, outputs), tools }), grants });

/** Another agent's tool of the same name, which returns something else. */
const stranger = defineTool({
  ...{ name: 'look', description: 'Looks.', input, output: z.number(), effect: 'pure' },
  execute: ({ n }) => n,
});
const clerk = new Agent({ name: 'clerk', model: scripted([[call('look', { n: 5 }, 'k')]]), tools: [look] }).asTool({
  ...{ toolName: 'clerk', toolDescription: 'Does the work of a clerk.' },
});

const SCRIPT = [
  [call('pay', { n: 1 }, 'a'), call('look', { n: 1 }, 'b')],
  [call('pay', { n: 20 }, 'c')],
  [call('look', { n: 2 }, 'd')],
];

const other = functionModel('other', (request) => [
  say(
    `other: ${resultsIn(request.input)
      .map(({ callId, text }) => `${callId}=${text}`)
      .join(' | ')}`,
  ),
]);

const config = {
  turnsPerSegment: 2,
  forkModels: ['spare/*'],
  providers: { spare: { getModel: () => other } },
  agents: [
    agent('strangers', [], [stranger]),
    agent('steps', SCRIPT),
    agent('doubt', [[call('pay', { n: 1 }, 'a'), call('look', { n: 1 }, 'b')]]),
    agent(
      'standing',
      [
        [call('pay', { n: 20 }, 'a')],
        [call('pay', { n: 21 }, 'b'), call('sign', { n: 1 }, 's')],
        [call('pay', { n: 22 }, 'c')],
      ],
      [pay, look, sign],
    ),
    agent('boss', [[call('clerk', { input: 'Look.' }, 'c'), call('look', { n: 6 }, 'l')]], [clerk, look]),
  ],
};

describeEachDatabaseSlowly('forks', (kind) => {
  const t = engineFor(kind, config);
  beforeEach(() => {
    did = [];
    keys = [];
    asked = 0;
    down = false;
    hangs = false;
  });

  const rest = (id: string) => restOf(t.engine, id);
  const fork = async (id: string, body: Parameters<TestEngine['engine']['forkRun']>[1]) =>
    rest((await t.engine.forkRun(id, body, ADMIN)).id);
  const approve = async (run: RunView) => {
    for (const id of run.interruptions) await t.engine.decide(id, { verdict: 'approve' }, BOB);
    return rest(run.id);
  };
  const verified = async (run: RunView) =>
    expect(await t.engine.verifyRun(run.id, ADMIN)).toMatchObject({ ok: true, complete: true });

  const whole = async () => {
    const done = await approve(await runToRest(t.engine, 'steps'));
    expect(done.status).toBe('completed');
    did = [];
    asked = 0;
    return done;
  };

  it('has the same end as its source from every event, and asks and executes only what comes after', {
    timeout: 300_000,
  }, async () => {
    const source = await whole();
    const events = await eventsOf(t.engine, source.id);
    for (const { seq, id } of events.filter((_, index) => index % 5 === 3 || index === events.length - 1)) {
      did = [];
      asked = 0;
      let run = await fork(source.id, { at: seq % 2 === 0 ? seq : id });
      while (run.status === 'paused') run = await approve(run);
      expect(run, `at ${seq}: ${JSON.stringify(run.error)}`).toMatchObject({
        ...{ status: 'completed', output: source.output, turns: source.turns, usage: source.usage },
        forkedFrom: { runId: source.id, seq },
      });
      const before = events.filter((event) => event.seq <= seq);
      const answered = before.filter((event) => event.kind === 'model.responded').length;
      expect(asked, `at ${seq}`).toBe(source.turns - answered);
      const started = before.flatMap((event) =>
        event.kind === 'call.started' ? [event.data as { callId: string }] : [],
      );
      expect(did.length, `at ${seq}: ${did.join()}`).toBe(4 - started.length);
      await verified(run);
    }
  });

  it('begins with what it took over, and names its source', async () => {
    const source = await whole();
    const events = await eventsOf(t.engine, source.id);
    const at = events.findIndex(({ kind }) => kind === 'call.finished') + 2;
    const run = await fork(source.id, { at });
    const [, forked, ...copies] = await eventsOf(t.engine, run.id);
    expect(forked).toMatchObject({
      kind: 'run.forked',
      data: {
        runId: source.id,
        seq: at,
        hash: events[at - 1]?.hash,
        why: 'fork',
        edits: [],
        model: null,
        copied: at - 1,
      },
    });
    expect(copies.slice(0, at - 1).map(({ kind }) => kind)).toEqual(events.slice(1, at).map(({ kind }) => kind));
  });

  it('goes on with another answer of the model, outcome, input or model', async () => {
    const source = await whole();
    const events = await eventsOf(t.engine, source.id);
    const end = events.length;
    const answered = await fork(source.id, {
      at: end,
      edits: [{ turn: 2, output: [call('look', { n: 9 }, 'x')] }],
    });
    expect(answered).toMatchObject({ status: 'completed', turns: 4 });
    expect(answered.output).toBe(
      'a={"done":"pay 1"} | b={"done":"look 1"} | x={"done":"look 9"} | d={"done":"look 2"}',
    );
    expect(did).toEqual(['look 9', 'look 2']);
    const other = await fork(source.id, {
      at: end,
      edits: [{ callId: 'd', outcome: { type: 'output', output: { done: 'nothing there' } } }],
    });
    expect(other.output).toContain('d={"done":"nothing there"}');
    const spare = await fork(source.id, { at: 8, model: 'spare/one', input: 'Go on.' });
    expect(spare).toMatchObject({ status: 'completed', input: 'Go on.', turns: 2 });
    expect(spare.output).toMatch(/^other: a=/);
    for (const run of [answered, other, spare]) await verified(run);
    const responded = (await eventsOf(t.engine, spare.id)).filter(({ kind }) => kind === 'model.responded');
    expect(responded.map(({ data }) => (data as { model: string }).model)).toEqual(['steps', 'spare/one']);
  });

  it('is refused by name', async () => {
    const source = await whole();
    const bad = (body: Parameters<typeof fork>[1]) => fork(source.id, body);
    const refused = { code: 'fork_invalid' };
    await expect(bad({ at: 1000 })).rejects.toMatchObject(refused);
    await expect(bad({ at: 'run_other:3' })).rejects.toMatchObject(refused);
    await expect(bad({ at: 3, edits: [{ turn: 3, output: [say('hi')] }] })).rejects.toMatchObject(refused);
    const end = (await eventsOf(t.engine, source.id)).length;
    const edits = [
      { turn: 1, output: [say('hi')] },
      { callId: 'd', outcome: { type: 'output' as const, output: { done: 'x' } } },
    ];
    await expect(bad({ at: end, edits })).rejects.toMatchObject(refused);
    const wrong = [{ callId: 'd', outcome: { type: 'output' as const, output: 5 } }];
    await expect(bad({ at: end, edits: wrong })).rejects.toMatchObject(refused);
    const again = [{ turn: 2, output: [call('look', { n: 1 }, 'a')] }];
    await expect(bad({ at: end, edits: again })).rejects.toMatchObject(refused);
    const never = await runToRest(t.engine, 'standing');
    const rejected = await t.engine.decide(never.interruptions[0] ?? '', { verdict: 'reject' }, BOB);
    await rest(never.id);
    const refusal = [{ callId: 'a', outcome: { type: 'output' as const, output: { done: 'pay' } } }];
    await expect(
      fork(never.id, { at: (await eventsOf(t.engine, never.id)).length, edits: refusal }),
    ).rejects.toMatchObject({
      ...{ code: 'fork_invalid', message: expect.stringContaining(`${rejected.callId} was refused`) },
    });
    const more = { type: 'output' as const, output: { done: 'x' }, cost: 5 };
    await expect(bad({ at: end, edits: [{ callId: 'd', outcome: more }] })).rejects.toMatchObject({
      ...{ code: 'invalid_request', fields: [{ pointer: '/edits/0/outcome/cost', detail: 'is not known here' }] },
    });
    for (const model of ['openai/gpt-5', 'spare', 'sparest/one'])
      await expect(bad({ at: end, model })).rejects.toMatchObject({
        ...{ code: 'fork_invalid', fields: [{ pointer: '/model' }], message: expect.stringContaining('spare/*') },
      });
    await expect(bad({ at: 0 })).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(t.engine.forkRun('run_x', { at: 1 }, ADMIN)).rejects.toMatchObject({ code: 'run_unknown' });
    await expect(t.engine.retryRun(source.id, {}, ADMIN)).rejects.toMatchObject({ code: 'run_not_failed' });
  });

  it('goes on with another outcome of an agent behind a tool, and of a call beside one of unknown effect', async () => {
    const source = await runToRest(t.engine, 'boss');
    expect(source).toMatchObject({ status: 'completed', output: expect.stringContaining('={"done":"look 5"} | l=') });
    did = [];
    const at = (await eventsOf(t.engine, source.id)).length;
    const edits = [{ callId: 'c', outcome: { type: 'output' as const, output: 'gone home' } }];
    const run = await fork(source.id, { at, edits });
    expect(run).toMatchObject({ error: null, output: expect.stringContaining('c=gone home') });
    expect(did).toEqual([]);
    await verified(run);
    hangs = true;
    const doubt = await runToRest(t.engine, 'doubt');
    hangs = false;
    const b = [{ callId: 'b', outcome: { type: 'output' as const, output: { done: 'nothing' } } }];
    const edited = await approve(await fork(doubt.id, { at: (await eventsOf(t.engine, doubt.id)).length, edits: b }));
    expect(edited).toMatchObject({ status: 'completed', output: expect.stringContaining('b={"done":"nothing"}') });
  });

  it('has what stood in its source as history, revoked by who revoked it, or with its begin', async () => {
    const first = await runToRest(t.engine, 'standing');
    await t.engine.decide(first.interruptions[0] ?? '', { verdict: 'approve', always: true }, BOB);
    const paused = await rest(first.id);
    expect(paused.status).toBe('paused');
    const [made] = (await t.engine.listStandingDecisions(paused.id, { limit: 50 }, BOB)).items;
    const kept = (await eventsOf(t.engine, paused.id)).length;
    await t.engine.revokeStandingDecision(paused.id, made?.id ?? '', ADMIN);
    const revoked = (await eventsOf(t.engine, paused.id)).length;
    const source = await approve(await approve(paused));
    expect(source).toMatchObject({ status: 'completed' });
    const events = await eventsOf(t.engine, source.id);
    const at = events.find(({ kind }) => kind === 'standing_decision.made')?.seq ?? 0;

    // The decision of the approval alone: nothing stood yet.
    const before = await fork(source.id, { at: at - 1 });
    expect(before).toMatchObject({ status: 'paused', interruptions: [expect.anything()] });
    expect((await t.engine.listStandingDecisions(before.id, { limit: 50 }, BOB)).items).toEqual([]);

    for (const [seq, revokedBy] of [
      [at, 'holdfast'],
      [at + 4, 'holdfast'],
      [kept, 'holdfast'],
      [revoked, 'ada'],
    ] as const) {
      did = [];
      let run = await fork(source.id, { at: seq });
      const [own] = (await t.engine.listStandingDecisions(run.id, { limit: 50 }, BOB)).items;
      expect(own, `at ${seq}`).toMatchObject({ runId: run.id, tool: 'pay', actor: 'bob', exact: true, revokedBy });
      expect(own?.revokedAt).toEqual(expect.any(String));
      expect([made?.id, made?.interruptionId]).not.toContain(own?.id);
      expect(await t.engine.getInterruption(own?.interruptionId ?? '', BOB)).toMatchObject({ runId: run.id });
      expect(did, `at ${seq}`).toEqual([]);
      while (run.status === 'paused') run = await approve(run);
      expect(run, `at ${seq}`).toMatchObject({ status: 'completed', output: source.output });
      expect(did.filter((one) => one === 'pay 22')).toHaveLength(1);
      expect(await kindsOf(t.engine, run.id)).toContain('standing_decision.revoked');
      await verified(run);
      // A fork of the fork has what the fork has.
      const again = await fork(run.id, { at: (await eventsOf(t.engine, run.id)).length });
      expect((await t.engine.listStandingDecisions(again.id, { limit: 50 }, BOB)).items).toMatchObject([{ revokedBy }]);
    }
  });

  it('is the same run for the same key', async () => {
    const source = await whole();
    const first = await t.engine.forkRun(source.id, { at: 1 }, ADMIN, `fork-${kind}`);
    expect((await t.engine.forkRun(source.id, { at: 1 }, ADMIN, `fork-${kind}`)).id).toBe(first.id);
    await expect(t.engine.forkRun(source.id, { at: 2 }, ADMIN, `fork-${kind}`)).rejects.toMatchObject({
      code: 'idempotency_key_reused',
    });
  });

  it('of a failed run is a retry from its last good point', async () => {
    const paused = await runToRest(t.engine, 'steps');
    down = true;
    const failed = await approve(paused);
    expect(failed).toMatchObject({ status: 'failed', turns: 3 });
    down = false;
    did = [];
    asked = 0;
    const { id } = await t.engine.retryRun(failed.id, {}, ADMIN);
    const done = await rest(id);
    expect(done).toMatchObject({ status: 'completed', forkedFrom: { runId: failed.id } });
    expect({ did, asked }).toEqual({ did: ['look 2'], asked: 2 });
    await verified(done);
    expect(await kindsOf(t.engine, failed.id)).toContain('run.failed');
  });

  it('asks about a call that the source did not know to have happened, and keeps its key', async () => {
    hangs = true;
    const paused = await runToRest(t.engine, 'doubt');
    expect(paused.status).toBe('paused');
    hangs = false;
    const end = (await eventsOf(t.engine, paused.id)).length;
    const run = await fork(paused.id, { at: end });
    expect(run.status).toBe('paused');
    const [question] = (await t.engine.listInterruptions({ runId: run.id, limit: 5 }, BOB)).items;
    expect(question).toMatchObject({ callId: 'a', reason: { code: 'unknown_effect' } });
    expect([...did].sort()).toEqual(['look 1', 'pay 1']);
    const done = await approve(run);
    expect(done.status).toBe('completed');
    expect(keys).toEqual([`${paused.id}:a`, `${paused.id}:a`]);
    await verified(done);
  });

  it('does not replay with an agent that was changed, and says so', async () => {
    const source = await whole();
    const narrow = defineAgent({
      agent: new Agent({ name: 'steps', model: counting('steps', SCRIPT), tools: [look] }),
      grants,
    });
    await t.restart({ agents: [narrow] });
    const end = (await eventsOf(t.engine, source.id)).length;
    expect((await fork(source.id, { at: end })).error).toMatchObject({ code: 'state_unreadable' });
    const partial = await fork(source.id, { at: 8 });
    expect(partial.error).toMatchObject({ code: 'replay_diverged' });
    await t.restart();
  });
});
