import { expect, it } from 'vitest';
import { removeLocked } from '../../../src/engine/retention/delete-run.js';
import { describeBothDatabasesSlowly } from '../../harness/database.js';
import { ADMIN, runToRest } from '../../harness/engine.js';
import { signedEngineFor } from '../../harness/signed-engine.js';

const BY = { actor: 'ada', reason: 'She asked for it.' };

describeBothDatabasesSlowly('what runs have lost', (kind) => {
  const t = signedEngineFor(kind);
  const remove = (id: string) => t.between((knex) => knex.transaction((trx) => removeLocked(trx, id, BY)));

  it('stands in the log over all runs: who took it away, why, and its run', async () => {
    const [first, second] = [await runToRest(t.engine, 'echo'), await runToRest(t.engine, 'echo')];
    await t.engine.checkpointNow();
    await t.engine.eraseRun(first.id, { reason: BY.reason }, ADMIN);
    await remove(second.id);
    await t.engine.checkpointNow();
    const report = await t.engine.verifyRun(first.id, ADMIN);
    expect(report).toMatchObject({ ok: true, payloads: 'erased', anchor: { why: null } });
    expect(await t.engine.verifyLog(ADMIN)).toMatchObject({ ok: true, problems: [], entries: 4, size: 4 });
    const { items } = await t.engine.listLogEntries({ after: 2, limit: 5 }, ADMIN);
    const head = { seq: report.events, hash: report.headHash };
    expect(items.map(({ entry }) => entry)).toMatchObject([
      { loss: 'erased', runId: first.id, ...BY, ...head, previous: expect.any(String) },
      { loss: 'removed', runId: second.id, ...BY, previous: expect.any(String) },
    ]);
    const others = await t.engine.listLogEntries({ after: 2, limit: 5 }, { ...ADMIN, tenant: 'other' });
    expect(others.items.map(({ entry }) => entry)).toEqual([null, null]);
    // Who repeats it adds nothing.
    await t.engine.eraseRun(first.id, { reason: 'Again.' }, ADMIN);
    expect(await t.engine.checkpointNow()).toMatchObject({ entries: 4, problem: null });
  });

  it('is entered with the end of the log when it is lost before that was entered', async () => {
    const { id } = await runToRest(t.engine, 'echo');
    await t.engine.eraseRun(id, { reason: BY.reason }, ADMIN);
    expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true });
    await t.engine.checkpointNow();
    expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, anchor: { why: null } });
    expect(await t.engine.verifyLog(ADMIN)).toMatchObject({ ok: true });
  });

  it('is found where only a row says so', async () => {
    const [erased, removed] = [await runToRest(t.engine, 'echo'), await runToRest(t.engine, 'echo')];
    await t.engine.checkpointNow();
    await t.between(async (knex) => {
      const head = (id: string) => knex('holdfast.run_heads').where({ run_id: id }).first('seq', 'hash', 'state_hash');
      const { seq, hash } = await head(erased.id);
      await knex('holdfast.events').where({ run_id: erased.id }).update({ data: null });
      await knex('holdfast.run_keys').where({ run_id: erased.id }).delete();
      await knex('holdfast.erasures').insert({ run_id: erased.id, ...BY, seq, hash });
      await knex('holdfast.runs').where({ id: erased.id }).update({ erased_at: knex.fn.now(), input: 'null' });
      await knex('holdfast.removed_runs').insert({ run_id: removed.id, ...BY, ...(await head(removed.id)) });
      await knex('holdfast.runs').where({ id: removed.id }).delete();
    });
    await t.engine.checkpointNow();
    expect(await t.engine.verifyRun(erased.id, ADMIN)).toMatchObject({
      ok: false,
      broken: { invariant: 'log_entry', what: expect.stringContaining('no entry of the log of all runs says who') },
    });
    const { ok, problems } = await t.engine.verifyLog(ADMIN);
    expect({ ok, what: problems.map(({ what }) => what).join('\n') }).toEqual({
      ok: false,
      what: expect.stringMatching(/no entry says who removed it\n.*no entry says who erased them/),
    });
  });

  it('is erased all the same when the log over all runs takes no entry', async () => {
    const { id } = await runToRest(t.engine, 'echo');
    await t.engine.checkpointNow();
    await t.between((knex) => knex('holdfast.log_entries').update({ hashes: '' }));
    expect(await t.engine.eraseRun(id, { reason: BY.reason }, ADMIN)).toMatchObject({ erased: [id] });
    expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: false });
  });
});
