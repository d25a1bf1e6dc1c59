import { expect, it } from 'vitest';
import { z } from 'zod';
import { definePlan, defineTool } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, BOB, engineFor, eventsOf, pendingOf, restOf, runToRest } from '../../harness/engine.js';

/** What holds for runs of agents holds for those of plans: forks, cancellation, and bounds of turns. */

const done: string[] = [];
let failing = false;
const step = defineTool({
  ...{ name: 'step', description: 'A step.', input: z.object({ n: z.int() }), output: z.object({ n: z.int() }) },
  execute: ({ n }, { callId }) => {
    if (failing && callId === 'last') throw new Error('not today');
    done.push(callId);
    return { n: n + 1 };
  },
});
const back = defineTool({
  ...{ name: 'back', description: 'Takes back.', input: z.object({ n: z.int() }), output: z.null() },
  execute: ({ n }) => {
    done.push(`back ${n}`);
    return null;
  },
});
const after = (id: string) => ({ n: { $from: `/nodes/${id}/n` } });
const undo = { tool: 'back', arguments: { n: { $from: '/nodes/first/n' } } };

describeEachDatabase('runs of plans', (kind) => {
  const test = engineFor(kind, {
    agents: [
      definePlan({
        ...{ name: 'three', tools: [step, back] },
        grants: ['tool:call:step', 'tool:call:back', 'human:ask:approval'],
        plan: {
          nodes: {
            first: { type: 'tool', tool: 'step', arguments: { n: 1 }, undo },
            sure: { type: 'ask', approval: 'Go on?', after: ['first'] },
            last: { type: 'tool', tool: 'step', after: ['sure'], arguments: after('first') },
          },
          output: { $from: '/nodes/last/n' },
        },
      }),
      definePlan({
        ...{ name: 'short', tools: [step], grants: ['tool:call:step'], maxTurns: 2 },
        plan: {
          nodes: {
            first: { type: 'tool', tool: 'step', arguments: { n: 1 } },
            second: { type: 'tool', tool: 'step', arguments: after('first') },
            third: { type: 'tool', tool: 'step', arguments: after('second') },
          },
        },
      }),
    ],
  });

  const approve = async (id: string) => {
    const item = await pendingOf(test.engine, id, 'approve');
    await test.engine.decide(item?.id ?? '', { verdict: 'approve' }, BOB);
    return restOf(test.engine, id);
  };

  it('fork at a node: what was done stays, what comes after is done again, and people are asked again', async () => {
    failing = true;
    done.length = 0;
    const { id } = await runToRest(test.engine, 'three');
    expect(await approve(id)).toMatchObject({ status: 'failed', error: { code: 'plan_failed' } });
    expect(done).toEqual(['first', 'back 2']);

    failing = false;
    const at = (await eventsOf(test.engine, id, 'call.finished'))[0]?.seq ?? 0;
    const fork = await test.engine.forkRun(id, { at }, ADMIN);
    expect(await restOf(test.engine, fork.id)).toMatchObject({ status: 'paused' });
    expect(await approve(fork.id)).toMatchObject({ status: 'completed', output: 3 });
    expect(done).toEqual(['first', 'back 2', 'last']);
    expect(await test.engine.verifyRun(fork.id, ADMIN)).toMatchObject({ ok: true });
    expect(await test.engine.replayRun(fork.id, {}, ADMIN)).toMatchObject({ differences: [] });
  });

  it('are cancelled where they wait, and nothing is undone', async () => {
    done.length = 0;
    const { id } = await runToRest(test.engine, 'three');
    await test.engine.cancelRun(id, null, ADMIN);
    expect(await restOf(test.engine, id)).toMatchObject({ status: 'cancelled' });
    expect(done).toEqual(['first']);
    expect(await test.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
  });

  it('end at their bound of turns', async () => {
    done.length = 0;
    expect(await runToRest(test.engine, 'short')).toMatchObject({ status: 'failed', error: { code: 'limit_turns' } });
    expect(done).toEqual(['first', 'second']);
  });
});
