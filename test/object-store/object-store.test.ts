import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listUrl, ObjectStore, type ObjectStoreOptions, objectUrl } from '../../src/object-store/object-store.js';
import { fileBody, textBody } from '../../src/object-store/signed-request.js';
import { SLOW } from '../harness/slow.js';
import { BUCKET, type Fault, KEYS, REGION, type S3Server, startS3 } from './s3-server.js';

const scratch = mkdtempSync(join(tmpdir(), 'holdfast-store-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

describe('an object store', () => {
  let server: S3Server;
  beforeEach(async () => {
    server = await startS3();
  });
  afterEach(() => server.close());

  const credentials = { ...KEYS, sessionToken: null };
  const open = (more: Partial<ObjectStoreOptions> = {}) =>
    new ObjectStore({
      ...{ endpoint: server.url, region: REGION, idleMs: 5000, patienceMs: 5000 },
      credentials: { read: async () => credentials, renewed: async () => null },
      ...more,
    });
  const name = (key: string) => ({ bucket: BUCKET, key });
  const TEXT = 'text/plain';

  it('keeps what it is given, under any name, and lists it page by page', async () => {
    const store = open();
    const keys = ['a b+c/(d)!*', 'a/1', 'a/%2F&<Key>', 'a/ü', 'z'];
    for (const key of keys) expect(await store.make(name(key), textBody(`in ${key}`), { of: 'x' }, TEXT)).toBe(true);
    for (const key of keys) {
      expect(await store.read(name(key))).toBe(`in ${key}`);
      expect(await store.head(name(key))).toMatchObject({ labels: { of: 'x' } });
    }
    expect(await store.list(BUCKET, { prefix: '', limit: 1000 })).toEqual(keys.toSorted());
    const first = await store.list(BUCKET, { prefix: 'a/', limit: 2 });
    const second = await store.list(BUCKET, { prefix: 'a/', after: first.at(-1) ?? '', limit: 2 });
    expect([...first, ...second]).toEqual(keys.filter((key) => key.startsWith('a/')).toSorted());
    await store.remove(name('z'));
    await store.remove(name('z'));
    expect([await store.head(name('z')), await store.read(name('z'))]).toEqual([null, null]);
  });

  it('never writes over what is there', async () => {
    const store = open();
    expect(await store.make(name('one'), textBody('first'), {}, TEXT)).toBe(true);
    expect(await store.make(name('one'), textBody('second'), {}, TEXT)).toBe(false);
    expect(await store.read(name('one'))).toBe('first');
    server.conditions = false;
    expect(await store.make(name('two'), textBody('old store'), {}, TEXT)).toBe(true);
  });

  it.runIf(SLOW)(
    'sends a file of many pieces again from its beginning when the store is slow or the connection breaks',
    async () => {
      const path = join(scratch, 'large');
      writeFileSync(path, randomBytes(3_000_000));
      const faults: Fault[] = [{ status: 503, code: 'SlowDown' }, 'cut', 'lost'];
      server.fault = () => faults.shift() ?? null;
      // What was done without an answer is found done.
      expect(await open().make(name('large'), await fileBody(path), {}, TEXT)).toBe(false);
      expect(server.objects.get('large')?.content.byteLength).toBe(3_000_000);
      expect(server.asked).toHaveLength(4);
    },
  );

  it('says by name what is wrong, and nothing of the secret or of what the server says', async () => {
    const wrong = { ...credentials, secretAccessKey: 'another-secret-of-somebody' };
    const fails = async (work: Promise<unknown>, code: string, said: RegExp) => {
      const error: unknown = await work.then(
        () => null,
        (thrown: unknown) => thrown,
      );
      expect(error).toMatchObject({ code, message: expect.stringMatching(said) });
      expect(String(error)).not.toMatch(/secret|<|key\/of/);
    };
    const refused = open({ credentials: { read: async () => wrong, renewed: async () => null } });
    await fails(refused.list(BUCKET, { prefix: '', limit: 1 }), 'object_store_denied', /403 SignatureDoesNotMatch/);
    await fails(refused.head(name('x')), 'object_store_denied', /answered 403/);
    await fails(open({ region: 'us-east-1' }).read(name('x')), 'object_store_denied', /another region/);
    await fails(open().list('elsewhere', { prefix: '', limit: 1 }), 'bucket_unknown', /s3:\/\/elsewhere/);
    await fails(open().make({ bucket: 'elsewhere', key: 'x' }, textBody(''), {}, TEXT), 'bucket_unknown', /elsewhere/);
    server.fault = () => ({ status: 400, code: 'EntityTooLarge' });
    await fails(open().make(name('x'), textBody(''), {}, TEXT), 'object_store_failed', /400 EntityTooLarge/);
    expect(server.asked.filter((one) => one === 'PUT x')).toHaveLength(2);
  });

  it('takes a server that is no store for none, and not for an empty one', async () => {
    const page = createHttpServer((_request, response) => response.end('<!doctype html><title>Console</title>'));
    await new Promise<void>((resolve) => page.listen(0, '127.0.0.1', resolve));
    const address = page.address();
    const port = typeof address === 'object' ? address?.port : 0;
    try {
      const asked = open({ endpoint: `http://127.0.0.1:${port}` }).list(BUCKET, { prefix: '', limit: 1 });
      await expect(asked).rejects.toMatchObject({
        code: 'object_store_failed',
        message: expect.stringContaining('an answer is no list of objects'),
      });
    } finally {
      page.close();
    }
  });

  it('asks once for what is larger than it may be', async () => {
    await open().make(name('large'), textBody('x'.repeat(2000)), {}, TEXT);
    const before = server.asked.length;
    await expect(open().bytes(name('large'), 1000)).rejects.toMatchObject({
      code: 'object_store_failed',
      message: expect.stringContaining('the answer is larger than 1000 bytes'),
    });
    expect(server.asked.length - before).toBe(1);
  });

  it('gives up when its patience is over', async () => {
    server.fault = () => ({ status: 503, code: 'SlowDown' });
    const fails = (store: ObjectStore, said: RegExp) =>
      expect(store.read(name('x'))).rejects.toMatchObject({
        code: 'object_store_unreachable',
        message: expect.stringMatching(said),
      });
    await fails(open({ patienceMs: 300 }), /503 SlowDown/);
    expect(server.asked.length).toBeGreaterThan(1);
    server.fault = () => 'silent';
    await fails(open({ idleMs: 50, patienceMs: 0 }), /nothing came for 50 ms/);
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
    const address = closed.address();
    await new Promise((resolve) => closed.close(resolve));
    const port = typeof address === 'object' ? address?.port : 0;
    await fails(open({ endpoint: `http://127.0.0.1:${port}`, patienceMs: 0 }), /ECONNREFUSED/);
  });

  it('reads a key again that is refused, once', async () => {
    server.secretAccessKey = 'rotated';
    const rotated = { ...credentials, secretAccessKey: 'rotated', sessionToken: 'for/an+hour==' };
    const store = open({ credentials: { read: async () => credentials, renewed: async () => rotated } });
    expect(await store.make(name('x'), textBody('x'), {}, TEXT)).toBe(true);
    server.secretAccessKey = 'rotated once more';
    await expect(store.read(name('x'))).rejects.toMatchObject({ code: 'object_store_denied' });
  });

  it('says that a file is gone as what it is', async () => {
    const path = join(scratch, 'gone');
    writeFileSync(path, 'x');
    const body = await fileBody(path);
    rmSync(path);
    await expect(open().make(name('x'), body, {}, TEXT)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('an address', () => {
  it('has the bucket in its path where there is an endpoint, and in its host at Amazon', () => {
    const at = (endpoint: string | null, bucket: string) =>
      objectUrl({ endpoint, region: 'eu-central-1' }, { bucket, key: 'a b/ü' }).href;
    expect(at('https://minio.example:9000/', 'data')).toBe('https://minio.example:9000/data/a%20b/%C3%BC');
    expect(at('https://x.example/s3/', 'data')).toBe('https://x.example/s3/data/a%20b/%C3%BC');
    expect(at(null, 'data')).toBe('https://data.s3.eu-central-1.amazonaws.com/a%20b/%C3%BC');
    expect(at(null, 'my.data')).toBe('https://s3.eu-central-1.amazonaws.com/my.data/a%20b/%C3%BC');
    expect(listUrl({ endpoint: null, region: 'cn-north-1' }, 'data', { prefix: 'a/', limit: 1 }).href).toBe(
      'https://data.s3.cn-north-1.amazonaws.com.cn/?list-type=2&encoding-type=url&prefix=a%2F&max-keys=1',
    );
  });
});
