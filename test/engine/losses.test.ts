import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Knex } from 'knex';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { leafOf } from '../../src/core/log-entry.js';
import { removeLocked } from '../../src/engine/erase-locked.js';
import { makeLogKey } from '../../src/engine/log-keys.js';
import { createEngine, type Engine } from '../../src/index.js';
import { openDatabase } from '../../src/storage/database.js';
import { readEntries } from '../../src/storage/log-entries.js';
import { createEngineDatabase, describeEachDatabase, type TestDatabase } from '../harness/database.js';
import { echoAgent } from '../harness/echo-agent.js';
import { ADMIN, runToRest } from '../harness/engine.js';

const BY = { actor: 'ada', reason: 'She asked for it.' };

describeEachDatabase('what runs have lost', (kind) => {
  let database: TestDatabase;
  let engine: Engine;
  const open = async () => {
    engine = await createEngine({
      ...{ workerId: 'test', agents: [echoAgent('one')], evidence: { intervalMs: 3_600_000 }, ...database.options },
      signingKeyFile: join(database.options.dataDir, 'test-key'),
    });
  };
  const between = async <T>(act: (knex: Knex) => Promise<T>): Promise<T> => {
    await engine.stop({ graceMs: 1000 });
    const opened = await openDatabase(database.options);
    return act(opened.knex).finally(async () => {
      await opened.close();
      await open();
    });
  };
  const remove = (id: string) => between((knex) => knex.transaction((trx) => removeLocked(trx, id, BY)));

  beforeEach(async () => {
    database = await createEngineDatabase(kind);
    makeLogKey(join(database.options.dataDir, 'test-key'), 'holdfast/test');
    await open();
  });
  afterEach(async () => {
    await engine.stop({ graceMs: 1000 });
    await database.drop();
  });

  it('stands in the log over all runs: who took it away, why, and of which run', async () => {
    const [first, second] = [await runToRest(engine, 'echo'), await runToRest(engine, 'echo')];
    await engine.checkpointNow();
    await engine.eraseRun(first.id, { reason: BY.reason }, ADMIN);
    await remove(second.id);
    await engine.checkpointNow();
    const report = await engine.verifyRun(first.id, ADMIN);
    expect(report).toMatchObject({ ok: true, payloads: 'erased', anchor: { why: null } });
    expect(await engine.verifyLog(ADMIN)).toMatchObject({ ok: true, problems: [], entries: 4, size: 4 });
    const { items } = await engine.listLogEntries({ after: 2, limit: 5 }, ADMIN);
    const head = { seq: report.events, hash: report.headHash };
    expect(items.map(({ entry }) => entry)).toMatchObject([
      { loss: 'erased', runId: first.id, ...BY, ...head, previous: expect.any(String) },
      { loss: 'removed', runId: second.id, ...BY, previous: expect.any(String) },
    ]);
    const others = await engine.listLogEntries({ after: 2, limit: 5 }, { ...ADMIN, tenant: 'other' });
    expect(others.items.map(({ entry }) => entry)).toEqual([null, null]);
    // Who repeats it adds nothing.
    await engine.eraseRun(first.id, { reason: 'Again.' }, ADMIN);
    expect(await engine.checkpointNow()).toMatchObject({ entries: 4, problem: null });
  });

  it('is entered with the end of the log when it is lost before that was entered', async () => {
    const { id } = await runToRest(engine, 'echo');
    await engine.eraseRun(id, { reason: BY.reason }, ADMIN);
    expect(await engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true });
    await engine.checkpointNow();
    expect(await engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, anchor: { why: null } });
    expect(await engine.verifyLog(ADMIN)).toMatchObject({ ok: true });
  });

  it('was entered of what an older build erased and removed', async () => {
    const [first, second] = [await runToRest(engine, 'echo'), await runToRest(engine, 'echo')];
    await engine.checkpointNow();
    await engine.eraseRun(first.id, { reason: BY.reason }, ADMIN);
    await remove(second.id);
    await between(async (knex) => {
      const { rows } = await knex.raw(`select run_id from holdfast.log_entries where loss is not null`);
      expect(rows.length).toBeGreaterThan(1);
      await undoMigration(knex);
      // That build had signed less.
      rmSync(join(database.options.dataDir, 'checkpoints.jsonl'));
    });
    expect(await engine.verifyRun(first.id, ADMIN)).toMatchObject({ ok: true });
    expect(await engine.checkpointNow()).toMatchObject({ problem: null });
    expect(await engine.verifyLog(ADMIN)).toMatchObject({ ok: true, problems: [] });
    const { items } = await engine.listLogEntries({ after: 0, limit: 50 }, ADMIN);
    const lost = items.map(({ entry }) => entry).filter((entry) => entry !== null && 'loss' in entry);
    expect(lost).toContainEqual(expect.objectContaining({ loss: 'erased', runId: first.id, ...BY }));
    expect(lost).toContainEqual(expect.objectContaining({ loss: 'removed', runId: second.id, ...BY }));
  });

  it('is found where only a row says so', async () => {
    const [erased, removed] = [await runToRest(engine, 'echo'), await runToRest(engine, 'echo')];
    await engine.checkpointNow();
    await between(async (knex) => {
      const head = (id: string) => knex('holdfast.run_heads').where({ run_id: id }).first('seq', 'hash', 'state_hash');
      const { seq, hash } = await head(erased.id);
      await knex('holdfast.events').where({ run_id: erased.id }).update({ data: null });
      await knex('holdfast.run_keys').where({ run_id: erased.id }).delete();
      await knex('holdfast.erasures').insert({ run_id: erased.id, ...BY, seq, hash });
      await knex('holdfast.runs').where({ id: erased.id }).update({ erased_at: knex.fn.now(), input: 'null' });
      await knex('holdfast.removed_runs').insert({ run_id: removed.id, ...BY, ...(await head(removed.id)) });
      await knex('holdfast.runs').where({ id: removed.id }).delete();
    });
    await engine.checkpointNow();
    expect(await engine.verifyRun(erased.id, ADMIN)).toMatchObject({
      ok: false,
      broken: { invariant: 'log_entry', what: expect.stringContaining('no entry of the log of all runs says who') },
    });
    const { ok, problems } = await engine.verifyLog(ADMIN);
    expect({ ok, what: problems.map(({ what }) => what).join('\n') }).toEqual({
      ok: false,
      what: expect.stringMatching(/no entry says who removed it\n.*no entry says who erased them/),
    });
  });

  it('is erased all the same when the log over all runs takes no entry', async () => {
    const { id } = await runToRest(engine, 'echo');
    await engine.checkpointNow();
    await between((knex) => knex('holdfast.log_entries').update({ hashes: '' }));
    expect(await engine.eraseRun(id, { reason: BY.reason }, ADMIN)).toMatchObject({ erased: [id] });
    expect(await engine.verifyRun(id, ADMIN)).toMatchObject({ ok: false });
  });
});

/** Makes the schema, and the log over all runs, what they were before what runs lost was entered. */
async function undoMigration(knex: Knex): Promise<void> {
  const entries = await readEntries(knex, 0, 1000);
  const lost = entries.filter((entry) => 'loss' in entry);
  expect(lost.every((entry) => entry.leaf === leafOf(entry))).toBe(true);
  const last = entries.findLast((entry) => !('loss' in entry))?.index ?? 0;
  await knex('holdfast.log_entries').where('index', '>', last).delete();
  await knex('holdfast.log_checkpoints')
    .where('size', '>', last + 1)
    .delete();
  await knex.raw('drop index holdfast.log_entries_run_id_seq_loss_unique');
  await knex.raw('alter table holdfast.log_entries add constraint log_entries_run_id_seq_unique unique (run_id, seq)');
  await knex.raw('alter table holdfast.log_entries drop loss, drop actor, drop reason');
  await knex('holdfast.migrations').where({ name: '0048-losses-in-the-log' }).delete();
}
