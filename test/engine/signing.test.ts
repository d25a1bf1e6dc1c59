import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Knex } from 'knex';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeLogKey } from '../../src/engine/log-keys.js';
import { createEngine, type Engine } from '../../src/index.js';
import { openDatabase } from '../../src/storage/database.js';
import { createEngineDatabase, describeEachDatabase, type TestDatabase } from '../harness/database.js';
import { echoAgent } from '../harness/echo-agent.js';
import { ADMIN, runToRest } from '../harness/engine.js';

const ENTRIES = 7;

describeEachDatabase('the signer of the log over all runs', (kind) => {
  let database: TestDatabase;
  let engine: Engine;
  const open = async () => {
    engine = await createEngine({
      ...{ workerId: 'test', agents: [echoAgent('one')], evidence: { intervalMs: 3_600_000 }, ...database.options },
      signingKeyFile: join(database.options.dataDir, 'test-key'),
    });
  };
  const withDatabase = async (act: (knex: Knex) => Promise<unknown>): Promise<void> => {
    const opened = await openDatabase(database.options);
    await act(opened.knex).finally(() => opened.close());
  };
  const signed = () => readFileSync(join(database.options.dataDir, 'checkpoints.jsonl'), 'utf8');

  beforeEach(async () => {
    database = await createEngineDatabase(kind);
    makeLogKey(join(database.options.dataDir, 'test-key'), 'holdfast/test');
    await open();
    for (let run = 0; run < ENTRIES; run++) await runToRest(engine, 'echo');
    await engine.checkpointNow();
  });
  afterEach(async () => {
    await engine.stop({ graceMs: 1000 });
    await database.drop();
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
    await engine.stop({ graceMs: 1000 });
    await withDatabase(act);
    await open();
    // Also where no run has moved since.
    expect(await engine.checkpointNow()).toMatchObject({ problem: expect.stringMatching(problem) });
    await runToRest(engine, 'echo');
    expect(await engine.checkpointNow()).toMatchObject({ problem: expect.stringMatching(problem) });
    expect(signed()).toBe(before);
  });

  it('signs nothing that does not follow from what it has signed, although nothing outside says so any more', async () => {
    if (kind === 'pglite') return;
    const { entries } = await engine.getLog();
    writeFileSync(join(database.options.dataDir, 'checkpoints.jsonl'), '');
    await withDatabase(async (knex) => {
      await knex('holdfast.log_checkpoints').delete();
      await knex('holdfast.log_entries').where('index', '>=', 2).delete();
    });
    await runToRest(engine, 'echo');
    expect(await engine.checkpointNow()).toMatchObject({
      problem: expect.stringContaining(`${entries} entries was signed, and the log has`),
    });
    await engine.stop({ graceMs: 1000 });
    expect(signed()).toBe('');
  });

  it('signs what other runs have done when the state of one is no JSON', async () => {
    const one = await runToRest(engine, 'echo');
    await engine.stop({ graceMs: 1000 });
    await withDatabase((knex) =>
      knex('holdfast.run_heads').where({ run_id: one.id }).update({ state: '{no', moved: true }),
    );
    await open();
    const other = await runToRest(engine, 'echo');
    await engine.checkpointNow();
    expect((await engine.verifyRun(other.id, ADMIN)).anchor).toMatchObject({ why: null });
    expect(await engine.verifyRun(one.id, ADMIN)).toMatchObject({ ok: false });
  });
});
