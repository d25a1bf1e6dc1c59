import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent } from '@openai/agents';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openCheckpoint } from '../../../src/core/evidence/checkpoint.js';
import { verifyConsistency } from '../../../src/core/evidence/merkle.js';
import { parsePublicKey } from '../../../src/core/evidence/signed-note.js';
import { makeLogKey } from '../../../src/engine/evidence/log-keys.js';
import { createEngine, defineAgent, type Engine } from '../../../src/index.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { enterMoved } from '../../../src/storage/evidence/log-entries.js';
import { createEngineDatabase, describeEachDatabaseSlowly, type TestDatabase } from '../../harness/database.js';
import { ADMIN, runToRest } from '../../harness/engine.js';
import { say, scripted } from '../../harness/script.js';

const config = {
  agents: [defineAgent({ agent: new Agent({ name: 'short', model: scripted([[say('done')]]) }) })],
  // Nothing is signed but when a test says so.
  evidence: { intervalMs: 3_600_000 },
};

describeEachDatabaseSlowly('the log over all runs', (kind) => {
  let database: TestDatabase;
  let engine: Engine;
  let keyFile: string;
  const open = async (changes: object = {}) => {
    engine = await createEngine({
      workerId: 'test',
      ...config,
      ...database.options,
      signingKeyFile: keyFile,
      ...changes,
    });
  };
  const lines = (): { note: string }[] =>
    readFileSync(join(database.options.dataDir, 'checkpoints.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { note: string });

  beforeAll(async () => {
    database = await createEngineDatabase(kind);
    keyFile = join(database.options.dataDir, 'test-key');
    makeLogKey(keyFile, 'holdfast/test');
    await open();
  });
  afterAll(async () => {
    await engine.stop({ graceMs: 1000 });
    await database.drop();
  });

  it('has an entry of a run, and a checkpoint outside the database says so', async () => {
    const { id } = await runToRest(engine, 'short');
    expect((await engine.verifyRun(id, ADMIN)).anchor).toMatchObject({
      seq: 0,
      why: expect.stringMatching(/waits for its entry/),
    });
    const log = await engine.checkpointNow();
    const report = await engine.verifyRun(id, ADMIN);
    expect(report).toMatchObject({
      ok: true,
      anchor: { seq: report.events, size: log.entries, outside: true, why: null, key: log.keys[0] },
    });
    const { items } = await engine.verifyRuns({ limit: 5 }, ADMIN);
    expect(items).toEqual([report]);
    const [note] = lines()
      .map((line) => line.note)
      .slice(-1);
    const key = parsePublicKey(log.keys[0] ?? '');
    expect(key && openCheckpoint(note ?? '', [key])).toMatchObject({ origin: 'holdfast/test', size: log.entries });
    expect(log.checkpoint?.note).toBe(note);
    expect(await engine.verifyLog(ADMIN)).toMatchObject({
      ok: true,
      entries: log.entries,
      outside: true,
      problems: [],
    });
  });

  it('grows by what moved alone, and each size extends those before', async () => {
    const before = await engine.checkpointNow();
    expect(await engine.checkpointNow()).toEqual(before);
    const written = lines().length;
    await runToRest(engine, 'short');
    await runToRest(engine, 'short');
    const after = await engine.checkpointNow();
    expect(after.entries).toBe(before.entries + 2);
    expect(lines().length).toBe(written + 1);
    const sizes = { earlier: before.entries, size: after.entries };
    const { proof } = await engine.getConsistency(sizes);
    const roots = { earlierRoot: before.checkpoint?.root ?? '', root: after.checkpoint?.root ?? '' };
    expect(verifyConsistency(proof, { ...sizes, ...roots })).toBe(true);
    await expect(engine.getConsistency({ earlier: 1, size: after.entries + 1 })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });

  it('tells other tenants the leaves alone', async () => {
    const { items, nextCursor } = await engine.listLogEntries({ after: 0, limit: 1 }, ADMIN);
    expect(items).toMatchObject([{ index: 0, entry: { tenant: 'default', complete: true, previous: null } }]);
    expect(nextCursor).toBe('1');
    const other = await engine.listLogEntries({ after: 0, limit: 1 }, { ...ADMIN, tenant: 'other' });
    expect(other.items).toEqual([{ index: 0, leaf: items[0]?.leaf, entry: null }]);
  });

  it('is signed when the engine stops, and nothing in it is the key', async () => {
    const { id } = await runToRest(engine, 'short');
    await engine.stop({ graceMs: 1000 });
    const secret = readFileSync(keyFile, 'utf8').trim();
    const opened = await openDatabase(database.options);
    const stored = JSON.stringify([
      await opened.knex('holdfast.log_checkpoints').select('*'),
      await opened.knex('holdfast.log_entries').select('*'),
    ]);
    await opened.close();
    expect(stored).not.toContain(secret.slice(-20));
    expect(statSync(keyFile).mode & 0o777).toBe(0o600);
    await open();
    expect((await engine.verifyRun(id, ADMIN)).anchor).toMatchObject({ why: null, outside: true });
  });

  it('says that nothing is signed without a key, and goes on where it was with one', async () => {
    if (kind === 'pglite') return;
    await engine.stop({ graceMs: 1000 });
    await open({ signingKeyFile: null });
    const { id } = await runToRest(engine, 'short');
    expect(await engine.checkpointNow()).toMatchObject({ signs: false, checkpoint: null });
    expect((await engine.verifyRun(id, ADMIN)).anchor).toMatchObject({
      seq: 0,
      why: expect.stringMatching(/no key to sign/),
    });
    await expect(engine.exportProof(id, { payloads: true }, ADMIN)).rejects.toMatchObject({ code: 'run_not_anchored' });
    await engine.stop({ graceMs: 1000 });
    await open();
    await engine.checkpointNow();
    expect((await engine.verifyRun(id, ADMIN)).anchor).toMatchObject({ why: null });
  });

  it('is written outside by the next process when the disk was full, and is the same then', async () => {
    await engine.stop({ graceMs: 1000 });
    await open({ checkpoints: '/dev/full' });
    await runToRest(engine, 'short');
    await expect(engine.checkpointNow()).rejects.toMatchObject({ code: 'ENOSPC' });
    const { checkpoint } = await engine.getLog();
    await engine.stop({ graceMs: 1000 });
    await open();
    const later = await engine.checkpointNow();
    expect(later.checkpoint).toEqual(checkpoint);
    expect(lines().at(-1)?.note).toBe(checkpoint?.note);
    expect(await engine.verifyLog(ADMIN)).toMatchObject({ ok: true, outside: true });
  });

  it('has each head once, in one order, when two processes enter at once and one of them is killed', async () => {
    if (kind === 'pglite') return;
    for (let run = 0; run < 4; run++) await runToRest(engine, 'short');
    const before = (await engine.getLog()).entries;
    const [one, two] = await Promise.all([openDatabase(database.options), openDatabase(database.options)]);
    const enter = (knex: typeof one.knex) => enterMoved(knex, { after: '', limit: 1, restMs: 0 });
    // What was entered by a transaction that does not commit was not entered.
    await one.knex
      .transaction(async (trx) => {
        await enterMoved(trx, { after: '', limit: 10, restMs: 0 });
        await trx.raw('select pg_terminate_backend(pg_backend_pid())');
      })
      .catch(() => undefined);
    expect((await engine.getLog()).entries).toBe(before);
    for (let round = 0; round < 8; round++) await Promise.all([enter(one.knex), enter(two.knex)]);
    await Promise.all([one.close(), two.close()]);
    const log = await engine.checkpointNow();
    expect(log.entries).toBe(before + 4);
    expect(await engine.verifyLog(ADMIN)).toMatchObject({ ok: true, problems: [] });
  });

  it('goes on behind a line that a killed process has left half written', async () => {
    const path = join(database.options.dataDir, 'checkpoints.jsonl');
    const whole = readFileSync(path, 'utf8');
    writeFileSync(path, `${whole}{"at":"2026-01-01T00:00:00.000Z","no`);
    await runToRest(engine, 'short');
    const log = await engine.checkpointNow();
    expect(readFileSync(path, 'utf8').trim().split('\n').at(-1)).toContain(
      JSON.stringify(log.checkpoint?.note).slice(1, 60),
    );
    expect(await engine.verifyLog(ADMIN)).toMatchObject({ ok: true });
  });
});

it('a key file that holds none keeps the engine from starting, and is not repeated', async () => {
  const database = await createEngineDatabase('pglite');
  const keyFile = join(database.options.dataDir, 'broken-key');
  writeFileSync(keyFile, 'PRIVATE+KEY+something+that+is+secret\n');
  const failed = await createEngine({ ...config, ...database.options, signingKeyFile: keyFile }).catch(
    (error: unknown) => error,
  );
  expect(failed).toMatchObject({ code: 'secret_unreadable', message: expect.stringContaining(keyFile) });
  expect(String(failed)).not.toContain('something');
  await database.drop();
});
