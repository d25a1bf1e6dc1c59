import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Hub, type HubFile, type HubOptions } from '../../src/object-store/hub.js';
import { type HubFault, type HubServer, startHub, TOKEN } from './hub-server.js';

/** The client of a Hub, against a server that refuses whatever the protocol does not have. */

const scratch = mkdtempSync(join(tmpdir(), 'holdfast-hub-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const REPO = 'acme/traces';

describe('a Hub', () => {
  let server: HubServer;
  beforeEach(async () => {
    server = await startHub();
    server.make(REPO);
  });
  afterEach(() => server.close());

  const open = (more: Partial<HubOptions> = {}) =>
    new Hub({
      ...{ endpoint: server.url, idleMs: 5000, patienceMs: 8000 },
      token: { read: async () => TOKEN, renewed: async () => null },
      ...more,
    });
  let made = 0;
  const file = (content: Buffer): HubFile => {
    const from = join(scratch, `file-${made++}`);
    writeFileSync(from, content);
    const sha256 = createHash('sha256').update(content).digest('hex');
    return { path: `data/${made}.bin`, from, sizeBytes: content.byteLength, sha256 };
  };
  const puts = () => server.asked.filter((one) => one.startsWith('store PUT')).length;
  const faults = (at: string, list: (HubFault | null)[]) => {
    server.fault = (method, path) => (`${method} ${path}`.includes(at) ? (list.shift() ?? null) : null);
  };

  it('sends a large file whole, or in parts, and one that is there not again', async () => {
    const hub = open();
    for (const size of [1, 5000, 1_000_000, 1_000_001, 2_600_000]) {
      const one = file(randomBytes(size));
      expect(await hub.store(REPO, one)).toBe('sent');
      expect(server.objects.get(one.sha256)?.byteLength).toBe(size);
      const before = puts();
      expect(await hub.store(REPO, one)).toBe('there');
      expect(puts()).toBe(before);
    }
    expect(puts()).toBe(1 + 1 + 1 + 2 + 3);
  });

  it('goes on after 5xx, 429, cut connections and lost answers, wherever they come', async () => {
    const hub = open();
    for (const at of ['objects/batch', 'store PUT', '/complete', '/verify'])
      for (const fault of [{ status: 503 }, { status: 429 }, 'cut', 'lost'] as const) {
        faults(at, [fault]);
        const one = file(randomBytes(2_000_500));
        await hub.store(REPO, one);
        expect(server.objects.has(one.sha256), `${at} ${JSON.stringify(fault)}`).toBe(true);
      }
  });

  it('sends a part again by itself, and not the parts before it', async () => {
    let nth = 0;
    server.fault = (method) => (method === 'store PUT' && ++nth === 2 ? { status: 500 } : null);
    await open().store(REPO, file(randomBytes(2_500_000)));
    expect(puts()).toBe(4);
  });

  it('asks for a new address when the store finds one too old, and gives up when it always does', async () => {
    faults('store PUT', [{ status: 403 }]);
    expect(await open().store(REPO, file(randomBytes(2000)))).toBe('sent');
    faults(
      'store PUT',
      Array.from({ length: 9 }, () => ({ status: 403 })),
    );
    const error: unknown = await open()
      .store(REPO, file(randomBytes(2000)))
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'hub_failed', message: expect.stringContaining('answered 403') });
    // The address of the store opens it.
    expect(String(error)).not.toMatch(/Signature|\/put\//);
    expect(puts()).toBe(2 + 3);
  });

  it('waits as long as the Hub says, and gives up at once when that is too long', async () => {
    // A request that comes too soon is refused for good.
    let restUntil = 0;
    const rests = [{ 'retry-after': '1' }, { ratelimit: '"api";r=0;t=1' }];
    server.fault = () => {
      if (performance.now() < restUntil - 5) return { status: 400 };
      const headers = rests.shift();
      restUntil = performance.now() + 1000;
      return headers === undefined ? null : { status: 429, headers };
    };
    expect(await open().head(REPO)).toMatch(/^[0-9a-f]{40}$/);
    const before = server.asked.length;
    const late = ['300', new Date(Date.now() + 300_000).toUTCString()];
    for (const [at, after] of late.entries()) {
      faults('revision', [{ status: 429, headers: { 'retry-after': after } }]);
      await expect(open().head(REPO)).rejects.toMatchObject({
        code: 'hub_unreachable',
        message: expect.stringContaining('429'),
      });
      expect(server.asked.length, after).toBe(before + 1 + at);
    }
  });

  it('says by name what is wrong, and repeats nothing that the Hub writes', async () => {
    const said = async (work: Promise<unknown>): Promise<string> => {
      const error: unknown = await work.catch((thrown: unknown) => thrown);
      expect(String(error)).not.toMatch(/hostile|hf_Test/);
      return String(Reflect.get(Object(error), 'code'));
    };
    server.token = 'another';
    expect(await said(open().head(REPO))).toBe('hub_denied');
    server.token = TOKEN;
    expect(await said(open().create('other/traces'))).toBe('hub_denied');
    expect(await open().head('acme/none')).toBeNull();
    faults('revision', [{ status: 307, headers: { location: '/elsewhere' } }]);
    expect(await said(open().head(REPO))).toBe('hub_failed');
    faults('revision', [{ status: 200, body: 'no json' }]);
    expect(await said(open().head(REPO))).toBe('hub_failed');
    faults('revision', [{ status: 200, body: '{"sha": "../../x"}' }]);
    expect(await said(open().head(REPO))).toBe('hub_failed');
    server.fault = () => ({ status: 500 });
    expect(await said(open({ patienceMs: 500 }).head(REPO))).toBe('hub_unreachable');
    await server.close();
    expect(await said(open({ patienceMs: 500 }).head(REPO))).toBe('hub_unreachable');
    server = await startHub();
  });

  it('sends to no address that is none, and shows the token to no other server', async () => {
    const batch = (upload: object): HubFault => ({
      status: 200,
      body: JSON.stringify({ objects: [{ oid: one.sha256, size: one.sizeBytes, actions: { upload } }] }),
    });
    const one = file(randomBytes(3000));
    for (const href of ['file:///etc/passwd', 'ftp://127.0.0.1/x', 'http://user:pw@127.0.0.1:1/x', '']) {
      faults('objects/batch', [batch({ href: href === '' ? 'http://' : href })]);
      await expect(open().store(REPO, one)).rejects.toMatchObject({ code: 'hub_failed' });
    }
    for (const header of [{ chunk_size: '0' }, { chunk_size: '1000', '00001': 'x' }, { chunk_size: 'many' }]) {
      faults('objects/batch', [batch({ href: `${server.url}/complete`, header })]);
      await expect(open().store(REPO, one)).rejects.toMatchObject({ code: 'hub_failed' });
    }
    expect(server.objects.size).toBe(0);
    // What was committed as a large file is read from the store, which refuses a token.
    await open().store(REPO, one);
    const parent = (await open().head(REPO)) ?? '';
    const line = {
      key: 'lfsFile',
      value: { path: 'x', algo: 'sha256', oid: one.sha256, size: one.sizeBytes },
    } as const;
    expect(await open().commit(REPO, { parent, summary: 'one', lines: [line] })).toBe(true);
    const commit = (await open().head(REPO)) ?? '';
    expect(await open().read(REPO, commit, 'x')).not.toBeNull();
    expect(await open().read(REPO, parent, 'x')).toBeNull();
    faults(
      'resolve',
      Array.from({ length: 9 }, () => ({ status: 302, headers: { location: `/datasets/${REPO}/resolve/main/x` } })),
    );
    await expect(open().read(REPO, commit, 'x')).rejects.toMatchObject({ code: 'hub_failed' });
  });

  it('reads the token again when it was refused', async () => {
    server.token = 'hf_second';
    const renewed = open({ token: { read: async () => TOKEN, renewed: async () => 'hf_second' } });
    expect(await renewed.head(REPO)).toMatch(/^[0-9a-f]{40}$/);
    expect(await renewed.store(REPO, file(randomBytes(2000)))).toBe('sent');
  });

  it('goes on when the Hub is at work with another request: a 409 does not say that a repository is there', async () => {
    const hub = open();
    faults('repos/create', [{ status: 409 }, { status: 409 }]);
    await hub.create('acme/new');
    expect(server.repositories.get('acme/new')?.visibility).toBe('private');
    // One that is there by now stays as it is.
    await hub.create(REPO);
    expect(server.repositories.get(REPO)?.visibility).toBe('public');
    const parent = (await hub.head(REPO)) ?? '';
    faults('commit', [{ status: 409 }]);
    const lines = [{ key: 'file', value: { path: 'a', content: 'YQ==', encoding: 'base64' } }] as const;
    expect(await hub.commit(REPO, { parent, summary: 'first', lines })).toBe(true);
    expect(server.repositories.get(REPO)?.commits).toHaveLength(2);
    // A repository that is not shown is not waited for without end.
    server.fault = (_method, path) => (path.includes('repos/create') ? { status: 409 } : null);
    await expect(open({ patienceMs: 1000 }).create('acme/hidden')).rejects.toMatchObject({
      code: 'hub_unreachable',
      message: expect.stringContaining('answered 409'),
    });
  });

  it('commits to what it has seen, and to nothing else', async () => {
    const hub = open();
    const lines = [{ key: 'file', value: { path: 'a', content: 'YQ==', encoding: 'base64' } }] as const;
    const parent = (await hub.head(REPO)) ?? '';
    expect(await hub.commit(REPO, { parent, summary: 'first', lines })).toBe(true);
    expect(await hub.commit(REPO, { parent, summary: 'second', lines })).toBe(false);
    faults('commit', ['lost']);
    const next = (await hub.head(REPO)) ?? '';
    expect(await hub.commit(REPO, { parent: next, summary: 'third', lines })).toBe(false);
    expect(server.repositories.get(REPO)?.commits.map(({ summary }) => summary)).toEqual([
      'initial commit',
      'first',
      'third',
    ]);
  });
});
