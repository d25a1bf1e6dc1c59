import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { jsonObject } from '../../../src/core/json.js';
import { definePlan, defineTool, type HoldfastConfig, type PlanDocument } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, BOB, dataOf, engineFor, restOf, runToRest } from '../../harness/engine.js';

const world: string[] = [];
let failures = 0;

const number = z.object({ n: z.number() });
const book = defineTool({
  ...{ name: 'book', description: 'Books.', input: number, output: number },
  execute: ({ n }, { callId }) => {
    world.push(`book ${callId}`);
    return { n };
  },
});
const cancel = defineTool({
  ...{ name: 'cancel', description: 'Cancels a booking.', input: number, output: number },
  execute: ({ n }, { callId }) => {
    world.push(`cancel ${n} ${callId}`);
    return { n };
  },
});
const flaky = defineTool({
  ...{ name: 'flaky', description: 'Fails at first.', effect: 'pure', input: number, output: number },
  execute: ({ n }) => {
    if (failures-- > 0) throw new Error('not now');
    return { n };
  },
});

const tools = [book, cancel, flaky];
const grants = [...tools.map(({ name }) => `tool:call:${name}`), 'time:sleep:timer', 'human:ask:question'];
const plan = (name: string, document: PlanDocument) => definePlan({ name, tools, grants, plan: document });

const n = (value: unknown) => ({ n: value }) as { n: string };
const undo = (id: string) => ({ tool: 'cancel', arguments: n({ $from: `/nodes/${id}/n` }) });
const LIST = { type: 'array', items: { type: 'integer' } };

const config: HoldfastConfig = {
  agents: [
    plan('trip', {
      input: LIST,
      nodes: {
        legs: {
          ...{ type: 'map', over: { $from: '/input' }, atOnce: 2 },
          nodes: { leg: { type: 'tool', tool: 'book', arguments: n({ $from: '/item' }), undo: undo('leg') } },
          output: { $from: '/nodes/leg/n' },
        },
        long: {
          type: 'branch',
          cases: [
            {
              when: 'size(nodes.legs) > 2',
              nodes: { fail: { type: 'tool', tool: 'flaky', arguments: n({ $from: '/nodes/legs/0' }) } },
            },
          ],
          else: {
            nodes: {
              doubled: {
                ...{ type: 'loop', most: 5, until: 'last.n >= 8' },
                nodes: {
                  step: {
                    ...{ type: 'tool', tool: 'flaky' },
                    arguments: n({ $cel: 'last == null ? nodes.legs[0] : last.n * 2' }),
                  },
                },
                output: { $from: '/nodes/step' },
              },
            },
            output: { $from: '/nodes/doubled/n' },
          },
        },
      },
      output: { legs: { $from: '/nodes/legs' }, end: { $from: '/nodes/long' } },
    }),
    plan('patient', {
      nodes: { try: { type: 'tool', tool: 'flaky', arguments: { n: 1 }, retry: { attempts: 3, firstSeconds: 0.05 } } },
    }),
    plan('wide', {
      input: LIST,
      nodes: {
        all: {
          ...{ type: 'map', over: { $from: '/input' }, most: 300 },
          nodes: { one: { type: 'tool', tool: 'flaky', arguments: n({ $from: '/item' }) } },
          output: { $from: '/nodes/one/n' },
        },
      },
      output: { $from: '/nodes/all' },
    }),
    plan('poll', {
      nodes: {
        people: {
          ...{ type: 'map', over: ['a', 'b', 'c', 'd', 'e'] },
          nodes: {
            ask: { type: 'ask', question: { $text: ['Yes, ', { $from: '/item' }, '?'] }, choices: ['yes', 'no'] },
          },
          output: { $from: '/nodes/ask' },
        },
      },
    }),
  ],
};

describe('plans with groups', () => {
  describeEachDatabase('runs of plans with groups', (kind) => {
    const at = engineFor(kind, config);
    const callsOf = async (id: string) => (await dataOf(at.engine, id, 'call.finished')).map(({ callId }) => callId);
    const settled = async (id: string) => {
      let run = await restOf(at.engine, id);
      for (let tries = 0; run.status === 'paused' && tries < 200; tries++) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        run = await restOf(at.engine, id);
      }
      return run;
    };

    it('a list, a branch and a loop', async () => {
      const run = await runToRest(at.engine, 'trip', '[2, 3]');
      expect(run).toMatchObject({ status: 'completed', output: { legs: [2, 3], end: 8 } });
      expect(await callsOf(run.id)).toEqual([
        ...['legs.0.leg', 'legs.1.leg', 'long.1.doubled.0.step', 'long.1.doubled.1.step', 'long.1.doubled.2.step'],
      ]);
      expect(await at.engine.verifyRun(run.id, ADMIN)).toMatchObject({ ok: true, complete: true, broken: null });
    });

    it('a failure undoes what was done, the last first, each once', async () => {
      world.length = 0;
      failures = 1;
      const run = await runToRest(at.engine, 'trip', '[4, 5, 6]');
      expect(run).toMatchObject({ status: 'failed', error: { code: 'plan_failed' } });
      expect(run.error?.message).toContain('The node long.0.fail (flaky) failed with tool_failed');
      expect(world.filter((line) => line.startsWith('cancel'))).toEqual([
        ...['cancel 6 legs.2.leg~undo', 'cancel 5 legs.1.leg~undo', 'cancel 4 legs.0.leg~undo'],
      ]);
    });

    it('a node is tried again after a wait', async () => {
      failures = 2;
      const { id } = await runToRest(at.engine, 'patient');
      expect(await settled(id)).toMatchObject({ status: 'completed', output: { try: { n: 1 } } });
      expect(await callsOf(id)).toEqual(['try', 'try~wait1', 'try~2', 'try~wait2', 'try~3']);
    });

    it('120 items, 50 at once', async () => {
      const items = Array.from({ length: 120 }, (_, index) => index);
      const run = await runToRest(at.engine, 'wide', JSON.stringify(items));
      expect(run).toMatchObject({ status: 'completed', output: items, turns: 4 });
    });

    it('people answer in any order', async () => {
      const { id } = await runToRest(at.engine, 'poll');
      const { items } = await at.engine.listInterruptions({ status: 'pending', runId: id, limit: 10 }, BOB);
      expect(items).toHaveLength(5);
      for (const item of items.toReversed())
        await at.engine.decide(
          item.id,
          { verdict: 'answer', value: item.callId === 'people.1.ask' ? 'no' : 'yes' },
          BOB,
        );
      expect(await settled(id)).toMatchObject({
        status: 'completed',
        output: { people: ['yes', 'no', 'yes', 'yes', 'yes'] },
      });
    });

    it('a plan is shown with what it can need, and another one is checked in its place', async () => {
      const shown = await at.engine.getPlan('trip');
      expect(shown.nodes.map(({ id }) => id)).toEqual([
        ...['legs', 'legs.leg', 'long', 'long.0.fail', 'long.1.doubled', 'long.1.doubled.step'],
      ]);
      expect(shown.capabilities.map(({ capability }) => capability)).toEqual([
        ...['tool:call:book', 'tool:call:cancel', 'tool:call:flaky'],
      ]);
      expect(shown.mermaid).toContain('["legs: map"]');
      expect(shown.mermaid).toMatch(/ n\d+ --> n\d+/);
      const check = (document: PlanDocument) => at.engine.checkPlan('trip', { plan: jsonObject.parse(document) });
      const ask = { type: 'ask', approval: 'all?' } as const;
      expect(await check({ nodes: { ask } })).toMatchObject({
        ok: false,
        ...{ code: 'plan_not_granted', problems: [{ pointer: '/nodes/ask' }], read: { nodes: [{ id: 'ask' }] } },
      });
      expect(await check({ nodes: { b: { type: 'tool', tool: 'bok' } } })).toMatchObject({
        ...{ ok: false, code: 'plan_invalid', problems: [{ pointer: '/nodes/b/tool' }], read: null },
      });
      expect(await check({ nodes: { b: { type: 'tool', tool: 'book', arguments: { n: 1 } } } })).toMatchObject({
        ok: true,
      });
      await expect(at.engine.getPlan('none')).rejects.toMatchObject({ code: 'agent_unknown' });
    });
  });
});
