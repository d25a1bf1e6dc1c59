import { Agent } from '@openai/agents';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { defineAgent } from '../../../src/index.js';
import { CheckpointObjects } from '../../../src/object-store/checkpoint-objects.js';
import { ObjectStore } from '../../../src/object-store/object-store.js';
import { ADMIN, openTestEngine, runToRest, type TestEngine } from '../../harness/engine.js';
import { say, scripted } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';
import { BUCKET, KEYS, REGION, type S3Server, startS3 } from '../../object-store/s3-server.js';

const PLACE = { bucket: BUCKET, prefix: 'evidence/one' };
const CHECKPOINTS = `s3://${PLACE.bucket}/${PLACE.prefix}`;

describe.runIf(SLOW)('checkpoints in an object store', () => {
  let server: S3Server;
  let t: TestEngine;
  beforeAll(async () => {
    server = await startS3();
    t = await openTestEngine('pglite', {
      agents: [defineAgent({ agent: new Agent({ name: 'short', model: scripted([[say('done')]]) }) })],
      // Nothing is signed but when a test says so, and when the engine stops.
      evidence: { intervalMs: 3_600_000, checkpoints: CHECKPOINTS },
      objectStore: { endpoint: server.url, region: REGION, ...KEYS },
    });
  });
  afterAll(async () => {
    await t.close();
    await server.close();
  });
  afterEach(() => {
    server.fault = () => null;
    server.asked.length = 0;
  });

  const keys = (prefix = PLACE.prefix) =>
    [...server.objects.keys()].filter((key) => key.startsWith(`${prefix}/`)).toSorted();
  const sizes = () => keys().map((key) => Number(key.split('-')[1]));

  it('are an object each, the newest first, and verify reads them', async () => {
    const runs = [];
    for (let n = 0; n < 3; n++) {
      runs.push(await runToRest(t.engine, 'short'));
      await t.engine.checkpointNow();
    }
    expect(sizes()).toEqual([3, 2, 1]);
    expect(keys()[0]).toMatch(/^evidence\/one\/9007199254740988-3-[0-9a-f]{16}\.json$/);
    const { note } = JSON.parse(String(server.objects.get(keys()[0] ?? '')?.content));
    const log = await t.engine.getLog();
    expect(log).toMatchObject({ entries: 3, writesTo: CHECKPOINTS, checkpoint: { size: 3, note } });
    for (const { id } of runs)
      expect((await t.engine.verifyRun(id, ADMIN)).anchor).toMatchObject({ outside: true, size: 3, why: null });
    // Three of the store, and three of the database.
    expect(await t.engine.verifyLog(ADMIN)).toMatchObject({ ok: true, checkpoints: 6, size: 3, outside: true });
    const stored = JSON.stringify(
      [...server.objects.values()].map(({ content, headers }) => [String(content), headers]),
    );
    expect(stored).not.toContain(KEYS.secretAccessKey);
    expect(stored).not.toContain('PRIVATE');
  });

  it('are never written over, also when an answer was lost', async () => {
    await runToRest(t.engine, 'short');
    server.fault = (method) => (method === 'PUT' ? 'lost' : null);
    await t.engine.checkpointNow().catch(() => undefined);
    server.fault = () => null;
    const before = new Map(server.objects);
    expect(sizes()[0]).toBe(4);
    expect(await t.engine.checkpointNow()).toMatchObject({ checkpoint: { size: 4 }, problem: null });
    expect(new Map(server.objects)).toEqual(before);

    const store = new ObjectStore({
      ...{ endpoint: server.url, region: REGION, idleMs: 5000, patienceMs: 0 },
      credentials: { read: async () => ({ ...KEYS, sessionToken: null }), renewed: async () => null },
    });
    const other = new CheckpointObjects(store, { ...PLACE, prefix: 'other' });
    const at = '2026-01-01T00:00:00.000Z';
    for (const [size, note] of [
      [9, 'nine'],
      [10, 'ten'],
      [9, 'another nine'],
      [9, 'nine'],
    ] as const)
      await other.write(size, { at, note });
    const newest = (isSigned: (note: string) => boolean) =>
      other.newest(isSigned).then((of) => of.map(({ note }) => note));
    expect((await newest(() => true)).slice(0, 1)).toEqual(['ten']);
    // Past what others have put before them, whatever its names are, as far as there is an end to it.
    const put = (name: string, content: string) =>
      server.objects.set(`other/${name}`, { content: Buffer.from(content), headers: {} });
    for (let n = 0; n < 1500; n++) put(`!${n}`, 'junk');
    for (let n = 0; n < 30; n++)
      put(`00000000000000${10 + n}-9-0123456789abcdef.json`, n < 15 ? 'junk' : '{"at":"","note":"no"}');
    expect(await newest((note) => note === 'ten')).toContain('ten');
    server.asked.length = 0;
    await newest((note) => note === 'ten');
    // Names alone: what is under them is known by now.
    expect(server.asked.every((one) => one.trim() === 'GET')).toBe(true);
    await expect(newest(() => false)).resolves.toEqual([]);
    const all: string[] = [];
    for await (const { note } of other.lines(40)) all.push(note);
    expect(all.slice(0, 16)).toEqual([...Array(15).fill('no'), 'ten']);
    expect(all.slice(16).toSorted()).toEqual(['another nine', 'nine']);
    for (let n = 0; n < 400; n++) put(`0000000000000${100 + n}-9-0123456789abcdef.json`, 'junk');
    await expect(newest((note) => note === 'ten')).rejects.toMatchObject({ code: 'checkpoints_hidden' });
    for (const key of [...server.objects.keys()]) if (/^other\/(!|0000000)/.test(key)) server.objects.delete(key);
    expect(keys('other')).toHaveLength(3);
    const lines: string[] = [];
    for await (const { note } of other.lines(2)) lines.push(note);
    expect(lines).toHaveLength(2);
  });

  it('are of one log also where more is signed while someone verifies, or signs', async () => {
    const moreOnce = () => {
      let done = false;
      server.fault = async (method, key) => {
        // A list of names: what is there is asked for after what the database has.
        if (done || method !== 'GET' || key !== '') return null;
        done = true;
        await runToRest(t.engine, 'short');
        await t.engine.checkpointNow();
        return null;
      };
      return () => done;
    };
    const isDone = moreOnce();
    expect(await t.engine.verifyLog(ADMIN)).toMatchObject({ ok: true, problems: [] });
    expect(isDone()).toBe(true);
    await runToRest(t.engine, 'short');
    const wasSigned = moreOnce();
    expect(await t.engine.checkpointNow()).toMatchObject({ problem: null });
    expect(wasSigned()).toBe(true);
  });

  it('are not believed when they are junk', async () => {
    const junk = (name: string, content: string) =>
      server.objects.set(`${PLACE.prefix}/${name}`, { content: Buffer.from(content), headers: {} });
    junk('0000000000000000-9007199254740991-0123456789abcdef.json', '{"at":"2026-01-01T00:00:00.000Z","no');
    junk('0000000000000001-9007199254740990-0123456789abcdef.json', '{"at":"2026-01-01T00:00:00.000Z","note":"x"}');
    junk('index.html', '<html>');
    expect(await t.engine.getLog()).toMatchObject({ checkpoint: { size: 7 } });
    expect(await t.engine.verifyLog(ADMIN)).toMatchObject({
      ok: false,
      size: 7,
      problems: [{ what: expect.stringContaining('it is no signed note') }],
    });
    for (const key of keys().filter((one) => one.includes('/000') || one.endsWith('html'))) server.objects.delete(key);
    // Those that were read before are kept in memory: a process that starts now knows nothing of them.
    await t.restart();
    expect(await t.engine.verifyLog(ADMIN)).toMatchObject({ ok: true });
  });

  it('find that the end of the log was cut, with everything that the database knew of it', async () => {
    const { id } = await runToRest(t.engine, 'short');
    await t.engine.checkpointNow();
    const kept = new Map(server.objects);
    await t.between(async (knex) => {
      await knex('holdfast.log_checkpoints').where('size', '>', 7).delete();
      await knex('holdfast.log_entries').where('run_id', id).delete();
    });
    const report = await t.engine.verifyLog(ADMIN);
    expect(report).toMatchObject({ ok: false });
    expect(JSON.stringify(report.problems)).toContain('a checkpoint of 8 entries was signed');
    expect((await t.engine.verifyRun(id, ADMIN)).ok).toBe(false);
    await runToRest(t.engine, 'short');
    await t.engine.checkpointNow();
    expect(new Map(server.objects)).toEqual(kept);
  });

  it('are asked for in vain when the store is away, and that is said', async () => {
    server.fault = () => ({ status: 503, code: 'ServiceUnavailable' });
    const away = { code: 'object_store_unreachable', message: expect.stringContaining(server.url) };
    await expect(t.engine.getLog()).rejects.toMatchObject(away);
    await expect(t.engine.verifyLog(ADMIN)).rejects.toMatchObject(away);
    await expect(t.engine.verifyRuns({ limit: 5 }, ADMIN)).rejects.toMatchObject(away);
    server.fault = () => ({ status: 403, code: 'AccessDenied' });
    await expect(t.engine.checkpointNow()).rejects.toMatchObject({ code: 'object_store_denied' });
  });
});

it.runIf(SLOW)('checkpoints have a place in a bucket that is one, and a key', async () => {
  const agents = [defineAgent({ agent: new Agent({ name: 'short', model: scripted([[say('done')]]) }) })];
  const open = (checkpoints: string, objectStore = {}) =>
    openTestEngine('pglite', { agents, checkpoints, objectStore });
  await expect(open('s3://b')).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining('s3://b'),
  });
  await expect(open(CHECKPOINTS)).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining('AWS_ACCESS_KEY_ID'),
  });
});
