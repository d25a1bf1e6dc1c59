import { Agent } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, functionModel } from '../../../src/index.js';
import { ADMIN, BOB, decideAndRest, engineFor, eventsOf, restOf, runToRest } from '../../harness/engine.js';
import { call, resultsIn, say, scripted } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', input: z.object({ n: z.number() }), output: z.string() },
  approval: ({ n }) => n > 10 && 'much',
  execute: async ({ n }) => `paid ${n}`,
});

/** A model of which every answer and call has another id, as those of providers have. */
let made = 0;
const odd = functionModel('odd', async (request) => {
  made += 1;
  const told = resultsIn(request.input);
  return told.length > 1 ? [say('done')] : [{ ...call('pay', { n: told.length }, `call_${made}`), id: `fc_${made}` }];
});

const grants = ['tool:call:pay'];
const t = engineFor('pglite', {
  agents: [
    defineAgent({
      agent: new Agent({
        name: 'payer',
        model: scripted([[call('pay', { n: 1 }, 'c1')], [call('pay', { n: 50 }, 'c2')], [call('pay', { n: 3 }, 'c3')]]),
        tools: [pay],
      }),
      grants,
    }),
    defineAgent({ agent: new Agent({ name: 'odd', model: odd, tools: [pay] }), grants }),
  ],
});

const paid = async () => {
  const { id } = await runToRest(t.engine, 'payer');
  await decideAndRest(t.engine, id, { verdict: 'approve' });
  return id;
};

describe('where two runs part', () => {
  it.runIf(SLOW)('is nowhere in two runs that say the same, whatever ids there are', async () => {
    const [a, b] = [await paid(), await paid()];
    const { same, firstDifference, start, common, rest } = await t.engine.diffRuns(a, b, ADMIN);
    expect({ same, firstDifference, start }).toEqual({ same: true, firstDifference: null, start: [] });
    expect(common).toBe((await eventsOf(t.engine, a)).length - 1);
    expect(rest.a).toEqual(rest.b);
    expect(rest.a).toMatchObject({ events: 0, turns: 0, calls: 0, status: 'completed' });
  });

  it.runIf(SLOW)('is nowhere where only the ids differ that a provider makes up', async () => {
    const [a, b] = [await runToRest(t.engine, 'odd'), await runToRest(t.engine, 'odd')];
    expect([a.status, b.status]).toEqual(['completed', 'completed']);
    expect(await t.engine.diffRuns(a.id, b.id, ADMIN)).toMatchObject({ same: true, firstDifference: null });
  });

  it.runIf(SLOW)('is, of a run and its fork, the event that was edited', async () => {
    const a = await paid();
    const events = await eventsOf(t.engine, a);
    const edited = events.find(
      ({ kind, data }) => kind === 'call.finished' && (data as { callId: string }).callId === 'c1',
    );
    const outcome = { type: 'output' as const, output: 'paid nothing' };
    const { id: b } = await t.engine.forkRun(a, { at: edited?.seq ?? 0, edits: [{ callId: 'c1', outcome }] }, ADMIN);
    await restOf(t.engine, b);
    const diff = await t.engine.diffRuns(a, b, ADMIN);
    expect(diff).toMatchObject({ same: false, start: [], rest: { a: { turns: 3, status: 'completed' } } });
    expect(diff.firstDifference).toMatchObject({
      a: { seq: edited?.seq, kind: 'call.finished' },
      b: { kind: 'call.finished', data: { callId: 'c1' } },
      difference: [{ op: 'replace', path: '/outcome/output', value: 'paid nothing' }],
    });
    expect(diff.common).toBe((edited?.seq ?? 0) - 2);
    expect(diff.rest.b).toMatchObject({ status: 'paused', turns: 1, calls: 1 });
  });

  it.runIf(SLOW)('is the decision, where another one was made', async () => {
    const a = await paid();
    const { id: b } = await runToRest(t.engine, 'payer', 'go', BOB);
    await decideAndRest(t.engine, b, { verdict: 'reject', message: 'No.' });
    const { firstDifference, rest } = await t.engine.diffRuns(a, b, ADMIN);
    expect(firstDifference).toMatchObject({ a: { kind: 'interruption.decided' }, b: { kind: 'interruption.decided' } });
    expect(firstDifference?.difference).toContainEqual({ op: 'replace', path: '/verdict', value: 'reject' });
    expect([rest.a.calls, rest.b.calls]).toEqual([2, 2]);
  });

  it('is the end of the shorter log', async () => {
    const a = await paid();
    const { id: b } = await runToRest(t.engine, 'payer');
    const { firstDifference, start } = await t.engine.diffRuns(a, b, ADMIN);
    expect(start).toEqual([]);
    expect(firstDifference).toMatchObject({ a: { kind: 'interruption.decided' }, b: null, difference: [] });
  });

  it.runIf(SLOW)('is told of how they were started, and of no run of another tenant', async () => {
    const a = await paid();
    const { id: b } = await runToRest(t.engine, 'payer', 'stop');
    const { start, same } = await t.engine.diffRuns(a, b, ADMIN);
    expect({ start, same }).toEqual({ start: [{ op: 'replace', path: '/input', value: 'stop' }], same: false });
    const zoe = { ...ADMIN, tenant: 'other' };
    await expect(t.engine.diffRuns(a, b, zoe)).rejects.toMatchObject({ code: 'run_unknown' });
    await expect(t.engine.diffRuns(a, 'run_none', ADMIN)).rejects.toMatchObject({ code: 'run_unknown' });
  });
});
