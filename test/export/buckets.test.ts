import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type EngineConfig, type ExportView, HoldfastError, type StartExport } from '../../src/index.js';
import { ADMIN, openTestEngine, runToRest, type TestEngine } from '../harness/engine.js';
import { SLOW } from '../harness/slow.js';
import { BUCKET, type Fault, KEYS, REGION, type S3Server, startS3 } from '../object-store/s3-server.js';
import { config } from './agents.js';
import { ended } from './exported.js';

/** Exports of real runs into an object store that checks what it is sent. */

const scratch = mkdtempSync(join(tmpdir(), 'holdfast-buckets-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const ROOT = `s3://${BUCKET}/exports`;
const sha256 = (content: Buffer | undefined) =>
  createHash('sha256')
    .update(content ?? '')
    .digest('hex');

describe.runIf(SLOW)('an export to an object store', () => {
  let server: S3Server;
  let t: TestEngine;
  beforeAll(async () => {
    server = await startS3();
    t = await openTestEngine('pglite', {
      ...{ ...config, exportDir: scratch, exportBuckets: [ROOT, `s3://${BUCKET}/of/{tenant}`] },
      objectStore: { endpoint: server.url, region: REGION, ...KEYS },
    });
    for (const agent of ['looker', 'front', 'looker']) await runToRest(t.engine, agent);
  });
  afterAll(async () => {
    await t.close();
    await server.close();
  });
  afterEach(() => {
    server.fault = () => null;
    server.secretAccessKey = KEYS.secretAccessKey;
    server.asked.length = 0;
    // Whatever became of it, nothing is left on the disk.
    expect(readdirSync(join(scratch, 'default')).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  const request: Omit<StartExport, 'to'> = { format: 'messages', options: { runsPerFile: 1, deduplicate: false } };
  const exported = async (s3: string, more: Partial<StartExport> = {}) =>
    ended(t.engine, await t.engine.startExport({ ...request, ...more, to: { s3 } }, ADMIN));
  const under = (prefix: string) => [...server.objects.keys()].filter((key) => key.startsWith(`${prefix}/`)).toSorted();
  const putsOf = () => server.asked.filter((one) => one.startsWith('PUT ')).map((one) => one.slice(4));

  it('has the same files as one into a folder, and its manifest last', async () => {
    const view = await exported(`${ROOT}/one`);
    expect(view).toMatchObject({
      status: 'completed',
      error: null,
      folder: `${ROOT}/one`,
      progress: { runs: 3, rows: 4 },
    });
    const folder = await ended(t.engine, await t.engine.startExport({ ...request, to: { folder: 'one' } }, ADMIN));
    expect(view.files).toEqual(folder.files);
    expect(view.files).toHaveLength(6);
    for (const { path, sha256: digest } of view.files)
      expect(sha256(server.objects.get(`exports/one/${path}`)?.content)).toBe(digest);
    const names = [...view.files.map(({ path }) => path), 'README.md', 'manifest.json'];
    expect(putsOf()).toEqual(names.map((path) => `exports/one/${path}`));
    expect(JSON.parse(String(server.objects.get('exports/one/manifest.json')?.content))).toMatchObject({
      export: view.id,
    });
  });

  it('says how much is sent while it is', async () => {
    const started = await t.engine.startExport({ ...request, to: { s3: `${ROOT}/told` } }, ADMIN);
    const told: ExportView['progress']['sending'][] = [];
    server.fault = async (method) => {
      if (method === 'PUT') told.push((await t.engine.getExport(started.id, ADMIN)).progress.sending);
      return null;
    };
    const view = await ended(t.engine, started);
    expect(view.progress.sending).toBeNull();
    const sizes = view.files.map(({ sizeBytes }) => sizeBytes);
    const upTo = (n: number) => sizes.slice(0, n).reduce((a, b) => a + b, 0);
    const all = { ofFiles: sizes.length + 2, ofSizeBytes: upTo(sizes.length) };
    expect(told).toEqual([0, 1, 2, 3, 4, 5, 6, 7].map((n) => ({ files: n, sizeBytes: upTo(n), ...all })));
  });

  it('has every file once when the store is slow, loses answers and cuts connections', async () => {
    const faults: (Fault | null)[] = [null, 'lost', { status: 503, code: 'SlowDown' }, 'cut', null, 'lost'];
    server.fault = (method) => (method === 'PUT' ? (faults.shift() ?? null) : null);
    const view = await exported(`${ROOT}/shaken`);
    expect(view.status).toBe('completed');
    for (const { path, sha256: digest } of view.files)
      expect(sha256(server.objects.get(`exports/shaken/${path}`)?.content)).toBe(digest);
    expect(under('exports/shaken')).toHaveLength(8);
  });

  it('never writes over what is there, and takes back what it has made when someone is in its way', async () => {
    const before = await exported(`${ROOT}/taken`);
    const manifest = server.objects.get('exports/taken/manifest.json');
    expect(await exported(`${ROOT}/taken`, { format: 'atif' })).toMatchObject({
      status: 'failed',
      error: { code: 'export_exists', message: expect.stringContaining(`${ROOT}/taken`) },
    });
    expect(server.objects.get('exports/taken/manifest.json')).toBe(manifest);
    expect(under('exports/taken')).toHaveLength(before.files.length + 2);

    // Someone puts an object there while the export is at work.
    server.fault = (method, key) => {
      if (method === 'PUT' && key.endsWith('train-00001-of-00003.jsonl'))
        server.objects.set('exports/way/README.md', { content: Buffer.from('mine'), headers: {} });
      return null;
    };
    expect(await exported(`${ROOT}/way`)).toMatchObject({ status: 'failed', error: { code: 'export_exists' } });
    expect(under('exports/way')).toEqual(['exports/way/README.md']);
    expect(String(server.objects.get('exports/way/README.md')?.content)).toBe('mine');
  });

  it('leaves nothing behind when it is cancelled in the middle', async () => {
    const started = await t.engine.startExport({ ...request, to: { s3: `${ROOT}/cancelled` } }, ADMIN);
    server.fault = async (method, key) => {
      if (method === 'PUT' && key.endsWith('train-00001-of-00003.jsonl'))
        await t.engine.cancelExport(started.id, ADMIN);
      return null;
    };
    expect(await ended(t.engine, started)).toMatchObject({ status: 'cancelled', files: [] });
    expect(putsOf().length).toBeGreaterThan(0);
    expect(putsOf()).not.toContain('exports/cancelled/manifest.json');
    expect(under('exports/cancelled')).toEqual([]);
  });

  it('says by name why it cannot be, and nothing of the key', async () => {
    server.secretAccessKey = 'changed since';
    const denied = await exported(`${ROOT}/denied`);
    expect(denied).toMatchObject({ status: 'failed', error: { code: 'object_store_denied' } });
    expect(denied.error?.message).toContain(`s3://${BUCKET}/exports/denied`);
    expect(JSON.stringify(denied)).not.toContain(KEYS.secretAccessKey);
    expect(existsSync(join(scratch, 'default', 'denied'))).toBe(false);
    const { opened } = await t.between(async (knex) => ({
      opened: JSON.stringify([
        await knex('holdfast.exports').select('*'),
        await knex('dbos.workflow_status').select('*'),
      ]),
    }));
    expect(opened).toContain('object_store_denied');
    expect(opened).not.toContain(KEYS.secretAccessKey);
    expect(opened).not.toContain(KEYS.accessKeyId);
  });

  it('goes only where the operator lets the tenant go', async () => {
    const refused = async (s3: string, said: RegExp, caller = ADMIN) => {
      const fields = [expect.objectContaining({ pointer: '/to/s3', detail: expect.stringMatching(said) })];
      await expect(t.engine.startExport({ ...request, to: { s3 } }, caller)).rejects.toMatchObject({
        code: 'invalid_request',
        fields,
      });
    };
    for (const s3 of [`s3://${BUCKET}`, 's3://elsewhere/exports/x', ROOT, `${ROOT}x/y`, `s3://${BUCKET}/of/acme/x`])
      await refused(s3, /expected/);
    for (const s3 of [`${ROOT}/../x`, `${ROOT}/.x`, `${ROOT}//x`, `${ROOT}/x?y`, `${ROOT}/%2e%2e/x`, `S3://a/b`])
      await refused(s3, /expected s3:\/\/bucket\/prefix/);
    const acme = { ...ADMIN, tenant: 'acme' };
    await refused(`${ROOT}/x`, /below s3:\/\/training\/of\/acme$/, acme);
    await refused(`s3://${BUCKET}/of/acme/../other/x`, /expected/, { ...acme, tenant: 'acme/../other' });
    const own = await t.engine.startExport({ ...request, to: { s3: `s3://${BUCKET}/of/acme/x` } }, acme);
    expect(own.folder).toBe(`s3://${BUCKET}/of/acme/x`);
    await expect(t.engine.startExport({ ...request, to: {} }, ADMIN)).rejects.toMatchObject({
      fields: [{ pointer: '/to', detail: 'expected one of `folder`, `s3` and `hub`' }],
    });
    for (;;) if ((await t.engine.getExport(own.id, acme)).status === 'completed') break;
  });
});

it.runIf(SLOW)('an engine that is to export to a store, and has no key of it, does not start', async () => {
  const open = (more: Partial<EngineConfig>) => openTestEngine('pglite', { ...config, exportBuckets: [ROOT], ...more });
  const error: unknown = await open({}).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(HoldfastError);
  expect(error).toMatchObject({ code: 'config_invalid', message: expect.stringContaining('AWS_ACCESS_KEY_ID') });
  await expect(open({ objectStore: { endpoint: 'minio:9000', ...KEYS } })).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining('http://'),
  });
  // One that serves alone sends nothing.
  const api = await open({ role: 'api' });
  const asked = await api.engine.startExport({ format: 'jsonl', to: { s3: `${ROOT}/x` } }, ADMIN);
  expect(asked).toMatchObject({ status: 'queued', folder: `${ROOT}/x` });
  await api.close();
});
