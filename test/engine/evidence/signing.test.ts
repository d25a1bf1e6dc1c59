import { readFileSync, writeFileSync } from 'node:fs';
import type { Knex } from 'knex';
import { beforeEach, expect, it } from 'vitest';
import { describeBothDatabasesSlowly } from '../../harness/database.js';
import { ADMIN, runToRest } from '../../harness/engine.js';
import { signedEngineFor } from '../../harness/signed-engine.js';

const ENTRIES = 7;

describeBothDatabasesSlowly('the signer of the log over all runs', (kind) => {
  const t = signedEngineFor(kind);
  const signed = () => readFileSync(t.fileOf('checkpoints.jsonl'), 'utf8');

  beforeEach(async () => {
    for (let run = 0; run < ENTRIES; run++) await runToRest(t.engine, 'echo');
    await t.engine.checkpointNow();
  });
  const remove = (index: number) => (knex: Knex) => knex('holdfast.log_entries').where({ index }).delete();
  const change = (index: number, to: object) => (knex: Knex) =>
    knex('holdfast.log_entries').where({ index }).update(to);
  const removed = (at: number) => ({
    ...{ what: `entry ${at} is removed`, act: remove(at) },
    problem: new RegExp(`entry ${at} of the log is missing`),
  });
  const changed = (to: object) => ({
    ...{ what: `an entry has another ${Object.keys(to).join()}`, act: change(2, to) },
    problem: /entry 2 is not what its hashes say/,
  });
  const ATTACKS = [
    ...[2, 0, 4].map(removed),
    ...[{ complete: false }, { run_id: 'run_other' }, { tenant: 'other' }, { hash: 'x' }, { previous: 'x' }].map(
      changed,
    ),
  ];

  it.each(kind === 'pglite' ? ATTACKS.slice(0, 1) : ATTACKS)('signs nothing when $what', async ({ act, problem }) => {
    const before = signed();
    await t.between(act);
    // Also where no run has moved since.
    expect(await t.engine.checkpointNow()).toMatchObject({ problem: expect.stringMatching(problem) });
    await runToRest(t.engine, 'echo');
    expect(await t.engine.checkpointNow()).toMatchObject({ problem: expect.stringMatching(problem) });
    expect(signed()).toBe(before);
  });

  it('signs nothing that does not follow from what it has signed, although nothing outside says so any more', async () => {
    if (kind === 'pglite') return;
    const { entries } = await t.engine.getLog();
    writeFileSync(t.fileOf('checkpoints.jsonl'), '');
    await t.withDatabase(async (knex) => {
      await knex('holdfast.log_checkpoints').delete();
      await knex('holdfast.log_entries').where('index', '>=', 2).delete();
    });
    await runToRest(t.engine, 'echo');
    expect(await t.engine.checkpointNow()).toMatchObject({
      problem: expect.stringContaining(`${entries} entries was signed, and the log has`),
    });
    await t.engine.stop({ graceMs: 1000 });
    expect(signed()).toBe('');
  });

  it('signs what other runs have done when the state of one is no JSON', async () => {
    const one = await runToRest(t.engine, 'echo');
    await t.between((knex) =>
      knex('holdfast.run_heads').where({ run_id: one.id }).update({ state: '{no', moved: true }),
    );
    const other = await runToRest(t.engine, 'echo');
    await t.engine.checkpointNow();
    expect((await t.engine.verifyRun(other.id, ADMIN)).anchor).toMatchObject({ why: null });
    expect(await t.engine.verifyRun(one.id, ADMIN)).toMatchObject({ ok: false });
  });
});
