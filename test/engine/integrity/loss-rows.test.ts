import type { Knex } from 'knex';
import { expect, it } from 'vitest';
import { removeLocked } from '../../../src/engine/retention/delete-run.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, runToRest } from '../../harness/engine.js';
import { signedEngineFor } from '../../harness/signed-engine.js';

/** Someone writes into the rows about erasures and removals, or puts back what they took: the signed entry says otherwise. */

const BY = { actor: 'ada', reason: 'asked' };
const TABLES = ['runs', 'run_heads', 'run_keys', 'events'];
type Rows = { readonly [table: string]: readonly object[] };

/** What is done to the row of a run that was erased, and what is said then: of the run, and of the log over all runs. */
const OF_ERASED: readonly [object | null, string, string][] = [
  [{ actor: 'mallory' }, 'actor: it is "mallory", and entry 12', 'actor of a row of erasures is not what entry'],
  [{ reason: 'lost' }, 'reason: it is "lost", and entry 13', 'reason of a row of erasures is not what entry'],
  [{ seq: 1 }, 'seq: it is 1, and entry 14', 'seq of a row of erasures is not what entry'],
  [{ hash: 'sha256:0' }, 'hash: it is "sha256:0", and entry 15', 'hash of a row of erasures is not what entry'],
  [{ tenant: 'other' }, 'tenant: it is "other", and entry 16', 'tenant of a row of erasures is not what entry'],
  [null, 'null: it is missing, and entry 17', 'erasures has no row for entry'],
];

describeEachDatabase('rows about erasures and removals', (kind) => {
  const t = signedEngineFor(kind);
  const rowsOf = async (knex: Knex, id: string): Promise<Rows> => {
    const rows: Record<string, object[]> = {};
    for (const table of TABLES)
      rows[table] = await knex(`holdfast.${table}`).where({ [table === 'runs' ? 'id' : 'run_id']: id });
    return rows;
  };
  const putBack = async (knex: Knex, rows: Rows): Promise<void> => {
    for (const table of TABLES) await knex(`holdfast.${table}`).insert([...(rows[table] ?? [])]);
  };

  it('are compared with the log over all runs', async () => {
    const ids: string[] = [];
    for (let made = 0; made < 12; made++) ids.push((await runToRest(t.engine, 'echo')).id);
    await t.engine.checkpointNow();
    const erased = ids.slice(0, 8);
    const [keyBack = '', ended = ''] = erased.slice(6);
    const [forged = '', back = '', changed = '', rowless = ''] = ids.slice(8);
    const kept = await t.between(async (knex) => ({
      [back]: await rowsOf(knex, back),
      [keyBack]: await rowsOf(knex, keyBack),
    }));
    for (const id of erased) await t.engine.eraseRun(id, { reason: BY.reason }, ADMIN);
    await t.between(async (knex) => {
      for (const id of [back, changed, rowless]) await knex.transaction((trx) => removeLocked(trx, id, BY));
    });
    await t.engine.checkpointNow();
    expect(await t.engine.verifyLog(ADMIN)).toMatchObject({ ok: true, problems: [] });
    const foundOf = async (id: string) => {
      const { ok, rows, broken } = await t.engine.verifyRun(id, ADMIN);
      return {
        ok,
        broken: broken?.invariant,
        rows: rows.map(({ table, column, what }) => `${table} ${column}: ${what}`),
      };
    };
    for (const id of [...erased, forged]) expect(await foundOf(id)).toMatchObject({ ok: true, rows: [] });

    await t.between(async (knex) => {
      for (const [place, [columns]] of OF_ERASED.entries()) {
        const row = knex('holdfast.erasures').where({ run_id: erased[place] });
        await (columns === null ? row.delete() : row.update(columns));
      }
      await knex('holdfast.run_keys').insert([...(kept[keyBack]?.['run_keys'] ?? [])]);
      await knex('holdfast.runs').where({ id: ended }).update({ status: 'failed' });
      const head = await knex('holdfast.run_heads').where({ run_id: forged }).first('tenant', 'seq', 'hash');
      await knex('holdfast.erasures').insert({ run_id: forged, ...head, ...BY });
      await putBack(knex, kept[back] ?? {});
      await knex('holdfast.removed_runs').where({ run_id: changed }).update({ actor: 'mallory' });
      await knex('holdfast.removed_runs').where({ run_id: rowless }).delete();
    });

    const { ok, problems } = await t.engine.verifyLog(ADMIN);
    expect(ok).toBe(false);
    const said = (id: string) => problems.filter(({ runId }) => runId === id).map(({ what }) => what);
    for (const [place, [, ofRun, ofLog]] of OF_ERASED.entries()) {
      const id = erased[place] ?? '';
      const rows = [expect.stringContaining(`erasures ${ofRun}`)];
      expect(await foundOf(id)).toMatchObject({ ok: false, broken: 'copied_rows', rows });
      expect(said(id)).toEqual([expect.stringContaining(ofLog)]);
    }
    expect(await foundOf(keyBack)).toMatchObject({
      ok: false,
      rows: [expect.stringMatching(/^run_keys null: it is there, and entry 18 .* was erased$/)],
    });
    expect(said(keyBack)).toEqual([expect.stringContaining('erased, and the key of its payloads is there')]);
    expect(await foundOf(ended)).toMatchObject({ ok: false, broken: 'run_row' });
    expect(await foundOf(forged)).toMatchObject({
      ...{ ok: false, broken: 'copied_rows' },
      rows: ['erasures null: no entry of the log of all runs says that the run was erased'],
    });
    expect(said(forged)).toEqual(['a row of erasures says what a run has lost, and no entry says so']);
    expect(await foundOf(back)).toMatchObject({
      ok: false,
      rows: [
        expect.stringMatching(/^runs null: it is there, and entry \d+ .* was removed$/),
        'removed_runs null: it says that the run was removed, which is there',
      ],
    });
    expect(said(back)).toEqual([expect.stringContaining('says that a run was removed, which is there')]);
    expect(said(changed)).toEqual([expect.stringContaining('actor of a row of removed_runs is not what entry')]);
    expect(said(rowless)).toEqual([expect.stringContaining('removed_runs has no row for entry')]);
    // All runs together are told the same as each of them alone.
    const { items } = await t.engine.verifyRuns({ limit: 50 }, ADMIN);
    for (const item of items) expect(item).toEqual(await t.engine.verifyRun(item.runId, ADMIN));
  });

  it('stay as they are where what came back is taken away again', async () => {
    const [first, second] = [(await runToRest(t.engine, 'echo')).id, (await runToRest(t.engine, 'echo')).id];
    const rows = await t.between((knex) => rowsOf(knex, second));
    await t.engine.eraseRun(first, { reason: BY.reason }, ADMIN);
    const remove = (knex: Knex) => knex.transaction((trx) => removeLocked(trx, second, BY));
    await t.between(async (knex) => {
      await remove(knex);
      await putBack(knex, rows);
      await knex('holdfast.runs').where({ id: first }).update({ erased_at: null });
    });
    expect(await t.engine.eraseRun(first, { reason: 'again' }, ADMIN)).toMatchObject(BY);
    await t.between(async (knex) => {
      await knex('holdfast.erasures').where({ run_id: first }).delete();
      await knex('holdfast.runs').where({ id: first }).update({ erased_at: null });
      await remove(knex);
    });
    expect(await t.engine.eraseRun(first, { reason: 'again' }, ADMIN)).toMatchObject(BY);
    await t.engine.checkpointNow();
    expect(await t.engine.verifyRun(first, ADMIN)).toMatchObject({ ok: true, payloads: 'erased' });
    expect(await t.engine.verifyLog(ADMIN)).toMatchObject({ ok: true, problems: [] });
  });
});
