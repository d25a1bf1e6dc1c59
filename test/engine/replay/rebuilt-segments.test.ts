import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, functionModel, type RunView } from '../../../src/index.js';
import { describeEachDatabaseSlowly } from '../../harness/database.js';
import { ADMIN, dataOf, engineFor, eventsOf, kindsOf, restOf } from '../../harness/engine.js';
import { call, resultsIn, say } from '../../harness/script.js';

/** Segments that were begun by a build whose recordings this one cannot go on with. */

const shape = { input: z.object({}), output: z.string() };
let stands = true;
let atWork = 0;
const did: string[] = [];
const look = defineTool({
  ...{ name: 'look', description: 'Looks.', ...shape, effect: 'pure' },
  execute: () => {
    did.push('look');
    return 'seen';
  },
});
const wait = defineTool({
  ...{ name: 'wait', description: 'Stands still, while it is to.', ...shape, effect: 'pure' },
  execute: () => {
    atWork += 1;
    return stands ? new Promise<never>(() => {}) : 'waited';
  },
});
const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', ...shape, approval: true },
  execute: (_input, { callId }) => {
    did.push(`pay ${callId}`);
    return 'paid';
  },
});

const asked: number[] = [];
let fails = false;
/** Two calls, of which one stands still; one more that stands still; a payment. */
const turns = [[call('look', {}), call('wait', {}, 'w1')], [call('wait', {}, 'w2')], [call('pay', {})]];
const model = functionModel('turns', ({ input }) => {
  const results = resultsIn(input);
  const turn = [0, 2, 3, 4].indexOf(results.length);
  asked.push(turn);
  if (fails && turn === 3) throw new Error('the model has nothing to say');
  return turns[turn] ?? [say(results.map(({ text }) => text).join(', '))];
});
const agents = [
  defineAgent({ agent: new Agent({ name: 'payer', model, tools: [look, wait, pay] }), grants: ['tool:call:*'] }),
];
const OUTPUT = 'seen, waited, waited, paid';

describeEachDatabaseSlowly('a segment of an older recording version', (kind) => {
  const t = engineFor(kind, { agents });

  /** Stops the engine while a call stands still, as if it were of an older build. */
  const leave = async (count: number): Promise<void> => {
    await expect.poll(() => atWork).toBe(count);
    await t.between((knex) =>
      knex.raw(`update dbos.workflow_status set application_version = '0' where status in ('PENDING', 'ENQUEUED')`),
    );
  };
  const approved = async (id: string): Promise<RunView> => {
    const { items } = await t.engine.listInterruptions({ runId: id, status: 'pending', limit: 10 }, ADMIN);
    for (const one of items) await t.engine.decide(one.id, { verdict: 'approve' }, ADMIN);
    return restOf(t.engine, id);
  };
  /** A run whose first segment was rebuilt twice, at its pause. */
  const rebuilt = async (): Promise<string> => {
    stands = true;
    atWork = 0;
    did.length = 0;
    asked.length = 0;
    const { id } = await t.engine.startRun({ agent: 'payer', input: 'go' }, ADMIN);
    await leave(1);
    await expect.poll(() => atWork).toBe(2);
    stands = false;
    // The call of the first turn stands still in the second engine as well, and ends in the third.
    await leave(2);
    expect(await restOf(t.engine, id)).toMatchObject({ status: 'paused', segment: 3 });
    return id;
  };

  it('is rebuilt as often as it must be, and does nothing again that is in the log', async () => {
    const id = await rebuilt();
    expect(await dataOf(t.engine, id, 'segment.rebuilt')).toEqual([
      { segment: 1, from: 0, to: 1 },
      { segment: 2, from: 0, to: 1 },
    ]);
    const kinds = await kindsOf(t.engine, id);
    expect(kinds.filter((one) => one === 'segment.started')).toHaveLength(1);
    expect(kinds.filter((one) => one === 'model.responded')).toHaveLength(3);
    // What the log had at each stop, and no more, was left out.
    expect(did).toEqual(['look']);
    expect(asked).toEqual([0, 1, 2]);
    expect(await approved(id)).toMatchObject({ status: 'completed', output: OUTPUT, turns: 4 });
    // No call that is not in the log can have had this id.
    expect(did).toEqual(['look', 'pay call_pay_s2']);
    expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
  });

  it('is left to the workers of its version, as long as one lives that takes segments', async () => {
    stands = true;
    atWork = 0;
    const { id } = await t.engine.startRun({ agent: 'payer', input: 'go' }, ADMIN);
    const old = { id: 'old', epoch: 1, build: 'old', pid: 1, role: 'worker', capacity: 1, recording_version: 0 };
    await expect.poll(() => atWork).toBe(1);
    await t.between(async (knex) => {
      await knex('holdfast.workers').insert({ ...old, heartbeat_at: knex.raw(`now() + interval '1 hour'`) });
      await knex.raw(`update dbos.workflow_status set application_version = '0' where workflow_uuid = ?`, [id]);
    });
    // An engine that has started has looked.
    expect(await dataOf(t.engine, id, 'segment.rebuilt')).toEqual([]);
    stands = false;
    await t.between((knex) => knex('holdfast.workers').where({ id: 'old' }).update({ stop_asked: 'drain' }));
    expect(await restOf(t.engine, id)).toMatchObject({ status: 'paused', segment: 2 });
    expect(await approved(id)).toMatchObject({ status: 'completed', output: OUTPUT });
  });

  it('is rebuilt by a newer build alone', async () => {
    stands = true;
    atWork = 0;
    const { id } = await t.engine.startRun({ agent: 'payer', input: 'go' }, ADMIN);
    await expect.poll(() => atWork).toBe(1);
    const version = (of: number) =>
      t.between((knex) =>
        knex.raw(`update dbos.workflow_status set application_version = ? where workflow_uuid = ?`, [String(of), id]),
      );
    await version(2);
    expect(await dataOf(t.engine, id, 'segment.rebuilt')).toEqual([]);
    stands = false;
    await version(0);
    expect(await restOf(t.engine, id)).toMatchObject({ status: 'paused', segment: 2 });
    await t.engine.cancelRun(id, null, ADMIN);
  });

  it('is part of what a lost state is made from', async () => {
    const id = await rebuilt();
    await t.between((knex) => knex('holdfast.snapshots').where({ run_id: id }).delete());
    expect(await approved(id)).toMatchObject({ status: 'completed', output: OUTPUT, turns: 4 });
    expect(asked).toEqual([0, 1, 2, 3]);
  });

  it('can be forked at every event', async () => {
    const id = await rebuilt();
    await approved(id);
    for (const { seq, kind: at } of await eventsOf(t.engine, id)) {
      const fork = await t.engine.forkRun(id, { at: seq }, ADMIN);
      let run: RunView = await restOf(t.engine, fork.id);
      if (run.status === 'paused') run = await approved(fork.id);
      expect(run, `${seq} ${at}`).toMatchObject({ status: 'completed', output: OUTPUT, turns: 4, error: null });
      expect(await t.engine.verifyRun(fork.id, ADMIN), `${seq} ${at}`).toMatchObject({ ok: true, complete: true });
    }
  });

  it('can be tried again when it fails', async () => {
    const id = await rebuilt();
    fails = true;
    expect(await approved(id)).toMatchObject({ status: 'failed' });
    fails = false;
    const { id: again } = await t.engine.retryRun(id, {}, ADMIN);
    expect(await restOf(t.engine, again)).toMatchObject({ status: 'completed', output: OUTPUT });
    expect(did.filter((one) => one.startsWith('pay'))).toHaveLength(1);
  });
});
