import { Agent } from '@openai/agents';
import type { Knex } from 'knex';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.js';
import { packNext } from '../../../src/storage/log/packed-events.js';
import { describeBothDatabasesSlowly } from '../../harness/database.js';
import { ADMIN, BOB, decideAndRest, eventsOf, restOf, runToRest } from '../../harness/engine.js';
import { call, say, scripted } from '../../harness/script.js';
import { signedEngineFor } from '../../harness/signed-engine.js';

const SECRET = 'c4n4ry';

const look = defineTool({
  ...{ name: 'look', description: 'Looks.', input: z.object({ at: z.string() }), output: z.string(), effect: 'pure' },
  execute: ({ at }) => `${SECRET} at ${at}`,
});
const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', input: z.object({ to: z.string() }), output: z.string(), effect: 'unsafe' },
  approval: true,
  execute: ({ to }) => `paid ${to}`,
});
const looks = Array.from({ length: 8 }, (_, n) => [call('look', { at: `place "${n}" \u{1F600}\n` })]);
const agent = (name: string, outputs: Parameters<typeof scripted>[0]) =>
  defineAgent({
    agent: new Agent({ name, model: scripted(outputs), tools: [look, pay] }),
    grants: ['tool:call:*'],
  });
const agents = [
  agent('busy', [...looks, [call('pay', { to: 'ann' }, 'p1'), call('look', { at: 'home' }, 'l1')], [say('done')]]),
  agent('quick', [[say('done')]]),
];

const rowsOf = async (knex: Knex, table: string, id: string): Promise<string[]> => {
  const { rows }: { rows: { row: string }[] } = await knex.raw(
    'select row_to_json(e)::text as row from holdfast.?? e where run_id = ? order by seq',
    [table, id],
  );
  return rows.map(({ row }) => row);
};
const packAll = (knex: Knex) => packNext(knex, 0, 100);

describeBothDatabasesSlowly('logs that are packed', (kind) => {
  const t = signedEngineFor(kind, { agents });

  async function endedRun(): Promise<string> {
    const { id } = await runToRest(t.engine, 'busy');
    expect(await decideAndRest(t.engine, id, { verdict: 'approve' }, BOB)).toMatchObject({ status: 'completed' });
    await t.engine.checkpointNow();
    // Soon after the end it is compared with other runs.
    await expect.poll(async () => (await t.engine.getTrajectory(id, ADMIN)).diversityScore).not.toBeNull();
    return id;
  }

  /** What readers are told of a run. */
  async function toldOf(id: string) {
    const { engine } = t;
    const pages = [];
    for (let after = 0, more = true; more; ) {
      const { items } = await engine.listEvents(id, { after, limit: 7 }, ADMIN);
      pages.push(items);
      after = items.at(-1)?.seq ?? after;
      more = items.length > 0;
    }
    return {
      pages,
      backwards: await engine.listEvents(id, { before: 40, limit: 50 }, ADMIN),
      results: await engine.listEvents(id, { after: 0, limit: 100, kind: 'call.finished' }, ADMIN),
      run: await engine.getRun(id, ADMIN),
      trajectory: await engine.getTrajectory(id, ADMIN),
      state: await engine.stateAt(id, 20, ADMIN),
      interruptions: await engine.listInterruptions({ runId: id, limit: 10 }, ADMIN),
      report: await engine.verifyRun(id, ADMIN),
      all: await engine.verifyLog(ADMIN),
    };
  }

  it('tell every reader the same, from fewer rows', async () => {
    const id = await endedRun();
    const before = await toldOf(id);
    expect(before).toMatchObject({ report: { ok: true, rows: [] }, all: { ok: true, problems: [] } });
    await t.between(async (knex) => {
      const rows = await rowsOf(knex, 'events', id);
      const packed = await packAll(knex);
      expect(packed).toMatchObject({ runs: 1, more: false });
      expect(packed.events).toBeGreaterThan(rows.length / 2);
      expect(await rowsOf(knex, 'events', id)).toHaveLength(rows.length - packed.events);
      expect(await rowsOf(knex, 'all_events', id)).toEqual(rows);
      expect(await packAll(knex)).toEqual({ runs: 0, events: 0, more: false });
    });
    expect(await toldOf(id)).toEqual(before);
    expect(await t.engine.replayRun(id, {}, ADMIN)).toMatchObject({ result: 'same', differences: [] });
    await t.engine.checkpointNow();
    expect(await t.engine.verifyLog(ADMIN)).toMatchObject({ ok: true, problems: [] });
  });

  it('are forked at an event in a block', async () => {
    const id = await endedRun();
    const finished = (await eventsOf(t.engine, id, 'call.finished'))[3];
    await t.between(packAll);
    const fork = await t.engine.forkRun(id, { at: finished?.seq ?? 0 }, ADMIN);
    await restOf(t.engine, fork.id);
    expect(await decideAndRest(t.engine, fork.id, { verdict: 'approve' }, BOB)).toMatchObject({ status: 'completed' });
    expect(await t.engine.verifyRun(fork.id, ADMIN)).toMatchObject({ ok: true, rows: [] });
  });

  it('lose their content when the run is erased, and still verify', async () => {
    const id = await endedRun();
    await t.between(async (knex) => {
      await packAll(knex);
      expect((await rowsOf(knex, 'packed_events', id)).join()).toContain(SECRET);
    });
    await t.engine.eraseRun(id, { reason: 'asked for' }, ADMIN);
    expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, payloads: 'erased' });
    await t.between(async (knex) => {
      const rows = await rowsOf(knex, 'all_events', id);
      expect(rows.length).toBeGreaterThan(40);
      for (const row of rows)
        expect(JSON.parse(row)).toMatchObject({ data: null, key: expect.stringMatching(/^erased:/) });
    });
  });

  it('are removed with the run', async () => {
    const id = await endedRun();
    await t.between(async (knex) => {
      await packAll(knex);
      await knex('holdfast.runs').where({ id }).delete();
      expect(await rowsOf(knex, 'all_events', id)).toEqual([]);
    });
  });

  it('are broken where an event in a block was changed', async () => {
    const id = await endedRun();
    const seq = (await eventsOf(t.engine, id, 'call.finished'))[2]?.seq ?? 0;
    await t.between(async (knex) => {
      await packAll(knex);
      const { rowCount } = await knex.raw(
        `update holdfast.packed_events p set events = (
           select array_agg(case when e.seq = :seq then row(e.seq, e.key, e.v, e.parent_id, e.kind, e.at, replace(e.data, :was, 'other'),
               e.data_hash, e.state_version, e.state_hash_before, e.state_hash_after, e.prev_hash, e.hash,
               e.worker)::holdfast.packed_event else e end order by e.seq) from unnest(p.events) e)
          where run_id = :id`,
        { id, seq, was: SECRET },
      );
      expect(rowCount).toBe(1);
    });
    expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({
      ok: false,
      broken: { seq, invariant: 'payload_hash' },
    });
  });

  it('keep as a row what a block would not give back', async () => {
    const id = await endedRun();
    const [first, second] = await eventsOf(t.engine, id, 'call.finished');
    await t.between(async (knex) => {
      const at = (seq: number | undefined) => knex('holdfast.events').where({ run_id: id, seq: seq ?? 0 });
      await at(first?.seq).update({ hash: `sha256:${'A'.repeat(64)}` });
      await at(second?.seq).update({ tenant: 'other' });
      const rows = await rowsOf(knex, 'events', id);
      expect((await packAll(knex)).events).toBeGreaterThan(8);
      expect(await rowsOf(knex, 'all_events', id)).toEqual(rows);
      expect(await at(first?.seq).first('hash')).toMatchObject({ hash: `sha256:${'A'.repeat(64)}` });
      expect(await at(second?.seq).first('tenant')).toEqual({ tenant: 'other' });
    });
  });

  it('are those of runs that were over long enough, in their order, some at a time', async () => {
    const ids = [await endedRun(), await endedRun(), (await runToRest(t.engine, 'quick')).id];
    const paused = (await runToRest(t.engine, 'busy')).id;
    await t.between(async (knex) => {
      expect(await packNext(knex, 60_000, 100)).toEqual({ runs: 0, events: 0, more: false });
      const packedRuns = async () =>
        (await knex('holdfast.packed_events').distinct('run_id')).map(({ run_id: id }: { run_id: string }) => id);
      expect(await packNext(knex, 0, 1)).toMatchObject({ runs: 1, more: true });
      expect(await packedRuns()).toEqual([ids[0]]);
      expect(await packNext(knex, 0, 1)).toMatchObject({ runs: 1, more: true });
      expect((await packedRuns()).sort()).toEqual(ids.slice(0, 2).sort());
      // A short log is not worth a block; a run that waits keeps its rows.
      expect(await packNext(knex, 0, 2)).toEqual({ runs: 0, events: 0, more: false });
      expect(await rowsOf(knex, 'packed_events', paused)).toEqual([]);
    });
    expect(await decideAndRest(t.engine, paused, { verdict: 'approve' }, BOB)).toMatchObject({ status: 'completed' });
  });

  // An embedded database has one connection.
  it.skipIf(kind === 'pglite')('are packed after another transaction that holds the run, in their order', async () => {
    const ids = [await endedRun(), await endedRun(), await endedRun()];
    await t.between(async (knex) => {
      await knex.transaction(async (other) => {
        await other('holdfast.runs').where({ id: ids[1] }).forUpdate().first('id');
        expect(await packNext(knex, 0, 100)).toMatchObject({ runs: 1, more: true });
        expect(await packNext(knex, 0, 100)).toEqual({ runs: 0, events: 0, more: false });
      });
      expect(await packNext(knex, 0, 100)).toMatchObject({ runs: 2, more: false });
    });
  });
});

describeBothDatabasesSlowly('a worker', (kind) => {
  const t = signedEngineFor(kind, { agents, retention: { packLogsDays: 0 } });

  it('packs logs when the chore is due', async () => {
    const { id } = await runToRest(t.engine, 'busy');
    await decideAndRest(t.engine, id, { verdict: 'approve' }, BOB);
    // Each look stops the engine: an embedded database has one process at a time. A chore that met the run in another transaction is due again.
    const packed = () =>
      t.between(async (knex) => {
        await knex('holdfast.chores')
          .where({ name: 'pack' })
          .update({ due_at: new Date(0) });
        return rowsOf(knex, 'packed_events', id);
      });
    await expect.poll(packed, { interval: 8000, timeout: 90_000 }).not.toEqual([]);
    expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true });
  });
});
