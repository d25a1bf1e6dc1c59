import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { loadConfig } from '../../../src/cli/load-config.js';
import * as holdfast from '../../../src/index.js';
import { askHumanTool, type Caller, defineAgent, sleepTool, waitForEventTool } from '../../../src/index.js';
import { pageText, ROOT } from '../../docs/pages.js';
import { describeEachDatabaseSlowly } from '../../harness/database.js';
import { ADMIN, BOB, decideAndRest, engineFor, restOf, runToRest } from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';

/** The tools that wait, the example of docs/approvals/waiting.md, and the events that they wait for. */

const OUTSIDE: Caller = { actor: 'bank', role: 'operator', tenant: 'default' };
const ELSEWHERE: Caller = { ...OUTSIDE, tenant: 'other' };

const tools = [askHumanTool({ expiresInMs: null }), sleepTool(), waitForEventTool()];
const grants = ['human:ask:*', 'time:sleep:*', 'event:wait:paid', 'event:wait:race'];
const agent = (name: string, outputs: Parameters<typeof scripted>[0]) =>
  defineAgent({ agent: new Agent({ name, model: scripted(outputs), tools }), grants, onDenied: 'tell' });

const schema = JSON.stringify({
  type: 'object',
  properties: { cents: { type: 'integer' }, to: { type: 'string' } },
  required: ['cents'],
});

const config = {
  agents: [
    agent('ask', [[call('ask_human', { question: 'How much?', choices: null, answerSchema: schema })]]),
    agent('slow-pattern', [[call('ask_human', { question: '?', answerSchema: '{"pattern":"(a+)+$"}' })]]),
    agent('nap', [[call('sleep', { seconds: 0.05 }, 'n')]]),
    agent('past', [[call('sleep', { until: '2001-01-01T00:00:00Z' }, 'p')]]),
    agent('too-long', [[call('sleep', { until: '2999-01-01T00:00:00Z' }, 'l')]]),
    agent('paid', [[call('wait_for_event', { name: 'paid' }, 'e')]]),
    agent('paid-7', [[call('wait_for_event', { name: 'paid', key: '7' }, 'e')]]),
    agent('race', [[call('wait_for_event', { name: 'race' }, 'e')]]),
    agent('other', [[call('wait_for_event', { name: 'other' }, 'e')]]),
    agent('impatient', [[call('wait_for_event', { name: 'paid', key: 'never', timeoutSeconds: 1 }, 'e')]]),
  ],
};

/** The agents of the example, with a model that needs no key. */
async function documented(): Promise<holdfast.HoldfastConfig['agents']> {
  const [, code = ''] = /^```ts\n([\s\S]*?)^```/m.exec(pageText('docs/approvals/waiting.md')) ?? [];
  mkdirSync(join(ROOT, 'dist'), { recursive: true });
  const dir = mkdtempSync(join(ROOT, 'dist', 'waiting-'));
  try {
    writeFileSync(join(dir, 'holdfast.config.ts'), code);
    const { agents } = await loadConfig(join(dir, 'holdfast.config.ts'), { holdfast });
    for (const entry of agents) {
      const declared = entry instanceof Agent ? entry : entry.agent;
      declared.model = scripted([[call('order', { part: 'lamp' }, 'o')]]);
    }
    return agents;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

const agents = [...config.agents, ...(await documented())];

describeEachDatabaseSlowly('tools that wait', (kind) => {
  const t = engineFor(kind, { agents });

  it('the example of the documentation', async () => {
    const paused = await runToRest(t.engine, 'buyer');
    expect(paused).toMatchObject({ status: 'paused' });
    await emit('invoice.paid', { key: 'order-lamp', payload: { cents: 1250 }, eventId: 'invoice-4711' });
    await ended(paused.id, 'o={"cents":1250,"order":"order-lamp"}');
  });

  const emit = (name: string, event: Parameters<typeof t.engine.emitEvent>[1] = {}, caller = OUTSIDE) =>
    t.engine.emitEvent(name, event, caller);
  const start = async (name: string) => (await t.engine.startRun({ agent: name, input: 'go' }, ADMIN)).id;
  const rest = (id: string) => restOf(t.engine, id);
  const ended = async (id: string, output: unknown, timeout = 20_000) => {
    await expect.poll(() => t.engine.getRun(id, ADMIN), { timeout }).toMatchObject({ status: 'completed', output });
    expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
  };

  it('ask_human: the answer must fit the schema, with a pointer to what does not', async () => {
    const paused = await runToRest(t.engine, 'ask');
    const [item] = (await t.engine.listInterruptions({ runId: paused.id, limit: 1 }, BOB)).items;
    expect(item).toMatchObject({ kind: 'question', expiresAt: null, wait: { schema: { required: ['cents'] } } });
    const wrong = t.engine.decide(item?.id ?? '', { verdict: 'answer', value: { cents: '12' } }, BOB);
    await expect(wrong).rejects.toMatchObject({ code: 'invalid_request', fields: [{ pointer: '/value/cents' }] });
    const done = await decideAndRest(t.engine, paused.id, { verdict: 'answer', value: { cents: 12 } });
    expect(done).toMatchObject({ status: 'completed', output: 'call_ask_human={"cents":12}' });
  });

  it('ask_human: a schema whose check may take forever is refused', async () => {
    expect((await runToRest(t.engine, 'slow-pattern')).output).toContain('pattern');
  });

  it('sleep: until it is time, across a restart; the past and the far future end at once', async () => {
    const nap = await start('nap');
    expect((await rest(nap)).status).toMatch(/paused|completed/);
    await t.restart();
    await ended(nap, 'n=0.05 seconds have passed.');
    const past = await start('past');
    await ended(past, 'p=It is past 2001-01-01T00:00:00Z.');
    expect((await runToRest(t.engine, 'too-long')).output).toContain('further ahead');
  });

  it('an event settles every wait that it matches, and is told once', async () => {
    const runs = [await start('paid'), await start('paid'), await start('paid-7')];
    for (const id of runs) expect(await rest(id)).toMatchObject({ status: 'paused' });
    const event = { payload: { cents: 5 }, key: '8', eventId: 'e-8' };
    expect(await emit('paid', event)).toMatchObject({ id: 'e-8', status: 'delivered', delivered: 2 });
    expect(await emit('paid', event)).toMatchObject({ id: 'e-8', status: 'delivered', delivered: 2 });
    await expect(emit('paid', { ...event, payload: 1 })).rejects.toMatchObject({ code: 'idempotency_key_reused' });
    await ended(runs[0] ?? '', 'e={"cents":5}');
    await ended(runs[1] ?? '', 'e={"cents":5}');
    expect(await t.engine.getRun(runs[2] ?? '', ADMIN)).toMatchObject({ status: 'paused' });
    const [item] = (await t.engine.listInterruptions({ runId: runs[0] ?? '', limit: 1 }, BOB)).items;
    expect(item).toMatchObject({ status: 'answered', decisions: [{ actor: 'bank', value: { eventId: 'e-8' } }] });
    expect(await emit('paid', { key: '7' }, ELSEWHERE)).toMatchObject({ status: 'kept' });
    expect(await emit('paid', { key: '7', payload: 'seven' })).toMatchObject({ delivered: 1 });
    await ended(runs[2] ?? '', 'e=seven');
  });

  it('an event that comes before its wait is kept for the first that matches', async () => {
    expect(await emit('paid', { key: '7', payload: 'early' })).toMatchObject({ status: 'kept', delivered: 0 });
    expect(await emit('paid', { key: '9', payload: 'another' })).toMatchObject({ status: 'kept' });
    await ended(await start('paid-7'), 'e=early');
    await ended(await start('paid'), 'e=another');
    const waits = await start('paid');
    expect(await rest(waits)).toMatchObject({ status: 'paused' });
    await t.engine.cancelRun(waits, null, ADMIN);
  });

  it('an event for one run goes to no other, and not to one that is over', async () => {
    const [one, two] = [await start('paid'), await start('paid')];
    for (const id of [one, two]) expect(await rest(id)).toMatchObject({ status: 'paused' });
    expect(await emit('paid', { runId: two, payload: 2 })).toMatchObject({ delivered: 1, runId: two });
    await ended(two, 'e=2');
    expect(await t.engine.getRun(one, ADMIN)).toMatchObject({ status: 'paused' });
    await expect(emit('paid', { runId: two })).rejects.toMatchObject({ code: 'run_over' });
    await expect(emit('paid', { runId: one }, ELSEWHERE)).rejects.toMatchObject({ code: 'run_unknown' });
    await t.engine.cancelRun(one, null, ADMIN);
    expect(await emit('paid', { payload: 'late' })).toMatchObject({ status: 'kept' });
    await ended(await start('paid'), 'e=late');
  });

  it('an event that does not come in time is something that the model reads', async () => {
    await ended(await start('impatient'), expect.stringContaining('did not come in time'));
  });

  it('a name that was not granted is not waited for', async () => {
    expect((await runToRest(t.engine, 'other')).output).toContain('Not allowed');
  });

  it('what is told must be well-formed and small', async () => {
    await expect(emit('a b')).rejects.toMatchObject({ code: 'invalid_request', fields: [{ pointer: '/path/name' }] });
    await expect(emit('paid', { key: '' })).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(emit('paid', { payload: 'x'.repeat(70_000) })).rejects.toMatchObject({ code: 'payload_too_large' });
  });

  it('before, at and after its wait: every event settles one wait, and none is lost', {
    timeout: 180_000,
  }, async () => {
    const count = 50;
    const starts = Array.from({ length: count }, () => start('race'));
    const events = Array.from({ length: count }, async (_, n) => {
      // Told one run each, so that a broadcast cannot take the place of a lost one.
      const runId = await (starts[n] ?? Promise.reject(new Error('no run')));
      await new Promise((resolve) => setTimeout(resolve, (n % 4) * 50));
      const event = { runId, payload: n, eventId: `race-${n}` };
      const told = await Promise.all([emit('race', event), emit('race', event)]);
      expect(new Set(told.map(({ id }) => id)).size).toBe(1);
    });
    await Promise.all(events);
    for (const [n, id] of (await Promise.all(starts)).entries()) {
      await ended(id, `e=${n}`, 120_000);
      expect((await emit('race', { runId: id, payload: n, eventId: `race-${n}` })).delivered).toBe(1);
    }
  });
});
