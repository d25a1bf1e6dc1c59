import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type EngineConfig, type ExportView, HoldfastError, type StartExport } from '../../src/index.js';
import { ADMIN, openTestEngine, runToRest, type TestEngine } from '../harness/engine.js';
import { SLOW } from '../harness/slow.js';
import { type HubFault, type HubServer, startHub, TOKEN } from '../object-store/hub-server.js';
import { config } from './agents.js';
import { ended } from './exported.js';

/** Exports of real runs into dataset repositories of a Hub that checks what it is sent. */

const scratch = mkdtempSync(join(tmpdir(), 'holdfast-hub-exports-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const at = (name: string) => `hf://datasets/acme/${name}`;
const sha256 = (content: Buffer | undefined) =>
  createHash('sha256')
    .update(content ?? '')
    .digest('hex');

describe.runIf(SLOW)('an export to a Hub', () => {
  let server: HubServer;
  let t: TestEngine;
  beforeAll(async () => {
    server = await startHub();
    t = await openTestEngine('pglite', {
      ...{
        ...config,
        exportDir: scratch,
        exportHub: [at('').slice(0, -1), at('{tenant}'), 'hf://datasets/acme/of/{tenant}'],
      },
      hub: { endpoint: server.url, token: TOKEN },
    });
    for (const agent of ['looker', 'front', 'looker']) await runToRest(t.engine, agent);
  });
  afterAll(async () => {
    await t.close();
    await server.close();
  });
  afterEach(() => {
    server.fault = () => null;
    server.token = TOKEN;
    server.largeFrom = 1000;
    server.asked.length = 0;
    server.ignored = new Set();
    // Whatever became of it, nothing is left on the disk.
    expect(readdirSync(join(scratch, 'default')).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  const request: Omit<StartExport, 'to'> = { format: 'messages', options: { runsPerFile: 1, deduplicate: false } };
  const exported = async (name: string, more: Partial<StartExport> = {}): Promise<ExportView> =>
    ended(t.engine, await t.engine.startExport({ ...request, ...more, to: { hub: at(name) } }, ADMIN));
  const commits = (name: string) => server.repositories.get(`acme/${name}`)?.commits ?? [];
  const puts = () => server.asked.filter((one) => one.startsWith('store PUT')).length;

  it('makes a private repository, and one commit with the same files as in a folder', async () => {
    const view = await exported('one', { options: { ...request.options, license: 'apache-2.0' } });
    expect(view).toMatchObject({ status: 'completed', error: null, folder: at('one'), progress: { runs: 3, rows: 4 } });
    const folder = await ended(t.engine, await t.engine.startExport({ ...request, to: { folder: 'one' } }, ADMIN));
    expect(view.files).toEqual(folder.files);
    const names = [...view.files.map(({ path }) => path), 'README.md', 'manifest.json'];
    expect(server.paths('acme/one')).toEqual(names.toSorted());
    for (const { path, sha256: digest } of view.files) expect(sha256(server.content('acme/one', path))).toBe(digest);
    expect(server.repositories.get('acme/one')?.visibility).toBe('private');
    expect(commits('one').map(({ summary }) => summary)).toEqual(['initial commit', `Export ${view.id} of Holdfast`]);
    expect(puts()).toBeGreaterThan(0);
    const card = String(server.content('acme/one', 'README.md'));
    for (const line of ['license: "apache-2.0"', 'size_categories:\n- n<1K', 'path: data/train-*.jsonl'])
      expect(card).toContain(line);
  });

  it('goes into a folder of a repository, and into Parquet', async () => {
    server.make('acme/many', { 'README.md': '# ours' });
    const view = await exported('many/july', { options: { encoding: 'parquet' } });
    expect(view).toMatchObject({ status: 'completed', folder: at('many/july') });
    expect(server.paths('acme/many')).toEqual(
      [
        'README.md',
        ...[...view.files.map(({ path }) => path), 'README.md', 'manifest.json'].map((one) => `july/${one}`),
      ].toSorted(),
    );
    expect(String(server.content('acme/many', 'README.md'))).toBe('# ours');
    const parquet = view.files.find(({ path }) => path.endsWith('.parquet'));
    expect(sha256(server.content('acme/many', `july/${parquet?.path}`))).toBe(parquet?.sha256);
  });

  it('says how much is sent while it is', async () => {
    const started = await t.engine.startExport({ ...request, to: { hub: at('told') } }, ADMIN);
    const told: (number | undefined)[] = [];
    server.largeFrom = 1;
    server.fault = async (method) => {
      if (method === 'store PUT') told.push((await t.engine.getExport(started.id, ADMIN)).progress.sending?.files);
      return null;
    };
    await ended(t.engine, started);
    // Content that the Hub has is not sent.
    expect(told.length).toBeGreaterThan(4);
    expect(told).toEqual([0, 1, 2, 3, 4, 5, 6, 7].slice(-told.length));
  });

  it('makes one commit when the Hub is slow, loses answers, cuts connections, and others commit', async () => {
    const faults: (HubFault | null)[] = [
      null,
      { status: 429, headers: { 'retry-after': '0' } },
      'cut',
      { status: 503 },
      'lost',
    ];
    server.fault = (method, path) =>
      /commit|preupload|batch|store/.test(`${method} ${path}`) ? (faults.shift() ?? null) : null;
    expect((await exported('shaken')).status).toBe('completed');
    expect(commits('shaken')).toHaveLength(2);

    let lost = 0;
    server.fault = (_method, path) => (path.includes('/commit/') && lost++ === 0 ? 'lost' : null);
    expect((await exported('lost')).status).toBe('completed');
    expect(commits('lost')).toHaveLength(2);

    server.make('acme/busy');
    let others = 0;
    server.fault = (_method, path) => {
      const all = commits('busy');
      const before = all.at(-1);
      if (path.includes('/commit/') && before && others++ < 2)
        all.push({ sha: sha256(Buffer.from(String(others))).slice(0, 40), summary: 'another', tree: before.tree });
      return null;
    };
    expect((await exported('busy')).status).toBe('completed');
    expect(
      commits('busy')
        .map(({ summary }) => summary)
        .slice(0, 3),
    ).toEqual(['initial commit', 'another', 'another']);
    expect(commits('busy')).toHaveLength(4);
  });

  it('never writes over what is there', async () => {
    await exported('taken');
    const before = commits('taken').length;
    const again = await exported('taken', { format: 'atif' });
    expect(again).toMatchObject({
      status: 'failed',
      error: { code: 'export_exists', message: expect.stringContaining(at('taken')) },
    });
    expect(commits('taken')).toHaveLength(before);

    // Someone commits there while the export is at work.
    server.make('acme/way');
    server.fault = (_method, path) => {
      if (path.includes('/commit/')) server.make('acme/way', { 'notes.txt': 'mine' });
      return null;
    };
    expect(await exported('way')).toMatchObject({ status: 'failed', error: { code: 'export_exists' } });
    expect(server.paths('acme/way')).toEqual(['notes.txt']);
  });

  it('commits nothing when it is cancelled, and fails by name where a file would be left out', async () => {
    const started = await t.engine.startExport({ ...request, to: { hub: at('cancelled') } }, ADMIN);
    server.largeFrom = 1;
    server.fault = async (method) => {
      if (method === 'store PUT') await t.engine.cancelExport(started.id, ADMIN).catch(() => undefined);
      return null;
    };
    expect(await ended(t.engine, started)).toMatchObject({ status: 'cancelled', files: [] });
    expect(commits('cancelled')).toHaveLength(1);
    server.fault = () => null;
    server.ignored = new Set(['manifest.json']);
    expect(await exported('ignored')).toMatchObject({
      status: 'failed',
      error: { code: 'hub_failed', message: expect.stringContaining('manifest.json') },
    });
    expect(commits('ignored')).toHaveLength(1);
  });

  it('takes its commit back when a run in it was erased meanwhile, and makes another without it', async () => {
    const { id } = await t.engine.startRun({ agent: 'looker', input: 'forget me' }, ADMIN);
    await t.engine.getRun(id, ADMIN, { waitMs: 20_000 });
    let erased = false;
    server.fault = async (_method, path) => {
      if (path.includes('/commit/') && !erased) {
        erased = true;
        await t.engine.eraseRun(id, { reason: 'asked for' }, ADMIN);
      }
      return null;
    };
    const view = await exported('erased');
    expect(view).toMatchObject({ status: 'completed', progress: { skipped: { erased: 1 } } });
    expect(commits('erased').map(({ summary }) => summary)).toEqual([
      ...['initial commit', `Export ${view.id} of Holdfast`, `Export ${view.id} of Holdfast is taken back`],
      `Export ${view.id} of Holdfast`,
    ]);
    const all = server.paths('acme/erased').map((path) => String(server.content('acme/erased', path)));
    expect(all.join()).not.toContain('forget me');
    expect(JSON.parse(String(server.content('acme/erased', 'manifest.json')))).toMatchObject({
      export: view.id,
      revision: 1,
    });
  });

  it('says by name why it cannot be, and nothing of the token', async () => {
    server.token = 'changed since';
    const denied = await exported('denied');
    expect(denied).toMatchObject({
      status: 'failed',
      error: { code: 'hub_denied', message: expect.stringContaining(at('denied')) },
    });
    server.token = TOKEN;
    expect(
      await ended(t.engine, await t.engine.startExport({ ...request, to: { hub: at('x') } }, ADMIN)),
    ).toMatchObject({ status: 'completed' });
    const { opened } = await t.between(async (knex) => ({
      opened: JSON.stringify([
        await knex('holdfast.exports').select('*'),
        await knex('dbos.workflow_status').select('*'),
      ]),
    }));
    expect(opened).toContain('hub_denied');
    expect(opened).not.toContain(TOKEN);
  });

  it('goes only where the operator lets the tenant go', async () => {
    const refused = async (hub: string, said: RegExp, caller = ADMIN) => {
      const fields = [expect.objectContaining({ pointer: '/to/hub', detail: expect.stringMatching(said) })];
      await expect(t.engine.startExport({ ...request, to: { hub } }, caller)).rejects.toMatchObject({
        code: 'invalid_request',
        fields,
      });
    };
    for (const hub of ['hf://datasets/other/x', 'hf://datasets/acmex/y']) await refused(hub, /^expected a place below/);
    for (const hub of [
      'hf://datasets/acme',
      'hf://models/acme/x',
      at('x/../y'),
      at('x//y'),
      at('x?y'),
      at('a--b'),
      at('x.git'),
      'HF://datasets/a/b',
    ])
      await refused(hub, /expected hf:\/\/datasets\/owner\/name/);
    const zoe = { ...ADMIN, tenant: 'zoe' };
    await refused(at('one'), /below hf:\/\/datasets\/acme\/zoe or hf:\/\/datasets\/acme\/of\/zoe$/, zoe);
    await refused(at('zoexx'), /below/, zoe);
    await refused(at('ZOE'), /HOLDFAST_EXPORT_HUB/, { ...ADMIN, tenant: 'ZOE' });
    const { id } = await t.engine.startExport({ ...request, to: { hub: at('zoe') } }, zoe);
    await expect.poll(async () => (await t.engine.getExport(id, zoe)).status, { timeout: 20_000 }).toBe('completed');
    expect(server.paths('acme/zoe')).toContain('manifest.json');
  });
});

it.runIf(SLOW)('an engine that is to export to a Hub, and has no token of it, does not start', async () => {
  const open = (more: Partial<EngineConfig>) => openTestEngine('pglite', { ...config, exportHub: [at('x')], ...more });
  const error: unknown = await open({}).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(HoldfastError);
  expect(error).toMatchObject({ code: 'config_invalid', message: expect.stringContaining('HF_TOKEN') });
  const wrong = { endpoint: 'hub:80', token: TOKEN };
  await expect(open({ hub: wrong })).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining('http://'),
  });
  await expect(open({ exportHub: ['s3://a/b'] })).rejects.toMatchObject({
    message: expect.stringContaining('hf://datasets/owner'),
  });
  // One that serves alone sends nothing.
  const api = await open({ role: 'api' });
  const asked = await api.engine.startExport({ format: 'jsonl', to: { hub: at('x') } }, ADMIN);
  expect(asked).toMatchObject({ status: 'queued', folder: at('x') });
  await api.close();
});
