import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type ExportView, exportView } from '../../src/core/exports/export.js';
import { pageOf } from '../../src/core/operations/fields.js';
import { runView } from '../../src/core/runs/run.js';
import { runHere } from '../cli/in-process.js';
import { describeEachDatabase } from '../harness/database.js';
import { SLOW } from '../harness/slow.js';
import { BUCKET, KEYS, REGION, type S3Server, startS3 } from '../object-store/s3-server.js';
import { type Actor, type Door, expectProblem, openDoor, TOKENS } from './door.js';

/** Exports as a client asks for them: over HTTP, and at a terminal. */
describeEachDatabase('exports over HTTP', (kind) => {
  const PATH = '/api/v1/trajectories/export';
  let server: S3Server;
  let door: Door;
  beforeAll(async () => {
    server = await startS3();
    door = await openDoor(kind, undefined, {
      exportBuckets: [`s3://${BUCKET}/exports`],
      objectStore: { endpoint: server.url, region: REGION, ...KEYS },
    });
    for (const input of ['a', 'b', 'c']) {
      const { json } = await door.ask('otto', 'POST', '/api/v1/runs', { agent: 'echo', input });
      await door.ask('vera', 'GET', `/api/v1/runs/${runView.parse(json).id}?wait=20`);
    }
  });
  afterAll(async () => {
    await door.close();
    await server.close();
  });
  afterEach(() => {
    server.fault = () => null;
  });

  const start = async (body: object, actor: Actor = 'otto'): Promise<ExportView> => {
    const answer = await door.ask(actor, 'POST', PATH, { format: 'messages', ...body });
    expect(answer.status, answer.text).toBe(202);
    const view = exportView.parse(answer.json);
    expect(answer.headers.get('location')).toBe(`${PATH}s/${view.id}`);
    return view;
  };
  const download = (id: string, path: string, actor: Actor = 'vera') =>
    door.ask(actor, 'GET', `${PATH}s/${id}/file?path=${encodeURIComponent(path)}`);
  const read = async (id: string, actor: Actor = 'vera'): Promise<ExportView> =>
    exportView.parse((await door.ask(actor, 'GET', `${PATH}s/${id}`)).json);
  const ended = async ({ id }: ExportView, actor: Actor = 'vera'): Promise<ExportView> => {
    for (;;) {
      const view = await read(id, actor);
      if (['completed', 'failed', 'cancelled'].includes(view.status)) return view;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  /** Holds the next export to the store where it sends its second file. */
  const hold = (): { readonly held: Promise<void>; readonly release: () => void } => {
    let [release, reached] = [() => {}, () => {}];
    const held = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let puts = 0;
    server.fault = async (method) => {
      if (method !== 'PUT' || ++puts !== 2) return null;
      reached();
      await released;
      return null;
    };
    return { held, release };
  };
  const staged = (view: ExportView) =>
    existsSync(dirname(view.folder)) ? readdirSync(dirname(view.folder)).filter((name) => name.startsWith('.')) : [];

  test('one is asked for, followed, listed, and is there', async () => {
    const started = await start({ options: { runsPerFile: 2, deduplicate: false }, to: { folder: 'one' } });
    expect(started).toMatchObject({ status: 'queued', actor: 'otto', tenant: 'default', files: [], completedAt: null });
    const view = await ended(started);
    expect(view).toMatchObject({
      status: 'completed',
      error: null,
      progress: { runs: 3, done: 3, rows: 3, skipped: {} },
    });
    expect(view.files.map(({ path, rows }) => `${path} ${rows}`)).toEqual([
      'data/train-00000-of-00002.jsonl 2',
      'data/train-00001-of-00002.jsonl 1',
      'evidence/runs-00000-of-00002.jsonl 2',
      'evidence/runs-00001-of-00002.jsonl 1',
    ]);
    const [row = ''] = readFileSync(join(view.folder, 'data/train-00000-of-00002.jsonl'), 'utf8').split('\n');
    expect(JSON.parse(row)).toMatchObject({
      agent: 'echo',
      messages: [{ role: 'user', content: 'a' }, { content: 'hello' }],
    });
    const listed = pageOf(exportView).parse((await door.ask('vera', 'GET', `${PATH}s?limit=1`)).json);
    expect(listed.items.map(({ id }) => id)).toEqual([view.id]);
  });

  test('its files are downloaded byte for byte, and nothing else of the disk', async () => {
    const view = await ended(await start({ to: { folder: 'down' } }));
    const warned: string[] = [];
    const warn = ({ name }: Error) => warned.push(name);
    process.on('warning', warn);
    for (const { path } of view.files) {
      const answer = await download(view.id, path);
      expect(answer.text).toBe(readFileSync(join(view.folder, path), 'utf8'));
      expect(answer.headers.get('content-type')).toBe('application/octet-stream');
      expect(answer.headers.get('content-disposition')).toBe(`attachment; filename*=UTF-8''${path.split('/').at(-1)}`);
    }
    process.off('warning', warn);
    expect(warned).toEqual([]);
    const [first] = view.files;
    for (const path of ['manifest.json', '../one/data/train-00000-of-00002.jsonl', `./${first?.path}`, '/etc/passwd'])
      expectProblem(await download(view.id, path), 'export_file_unknown');
    expectProblem(await download(view.id, first?.path ?? '', 'zoe'), 'export_unknown');
    rmSync(join(view.folder, first?.path ?? ''));
    symlinkSync('/etc/passwd', join(view.folder, first?.path ?? ''));
    expectProblem(await download(view.id, first?.path ?? ''), 'export_file_unknown');
  });

  test('what is asked badly is refused by name, and nothing is started', async () => {
    const count = async () => pageOf(exportView).parse((await door.ask('vera', 'GET', `${PATH}s`)).json).items.length;
    const before = await count();
    const to = { folder: 'bad' };
    const bad: readonly (readonly [object, string])[] = [
      [{ format: 'csv', to }, '/format'],
      [{ to }, '/format'],
      [{ format: 'atif' }, '/to'],
      [{ format: 'atif', to: {} }, '/to'],
      [{ format: 'atif', to: { folder: 'a', s3: `s3://${BUCKET}/exports/a` } }, '/to'],
      [{ format: 'atif', to: { folder: '../a' } }, '/to/folder'],
      [{ format: 'atif', to: { s3: 's3://elsewhere/a' } }, '/to/s3'],
      [{ format: 'atif', to: { s3: 'https://elsewhere/a' } }, '/to/s3'],
      [{ format: 'atif', to, filters: { status: ['running'] } }, '/filters/status/0'],
      [{ format: 'atif', to, filters: { since: 'yesterday' } }, '/filters/since'],
      [{ format: 'atif', to, filters: { minReward: 'much' } }, '/filters/minReward'],
      [{ format: 'atif', to, filters: { tenant: 'elsewhere' } }, '/filters/tenant'],
      [{ format: 'atif', to, options: { validation: 0.9 } }, '/options/validation'],
      [{ format: 'atif', to, options: { runsPerFile: 0 } }, '/options/runsPerFile'],
      [
        { format: 'atif', to, options: { redact: { patterns: [{ pattern: '(?=a)b' }] } } },
        '/options/redact/patterns/0/pattern',
      ],
    ];
    for (const [body, pointer] of bad) {
      const { errors } = expectProblem(await door.ask('otto', 'POST', PATH, body), 'invalid_request');
      expect(
        errors.map((one) => one.pointer),
        JSON.stringify(body),
      ).toEqual([pointer]);
    }
    expectProblem(await door.ask('vera', 'POST', PATH, { format: 'atif', to }), 'forbidden');
    expectProblem(await door.ask(null, 'POST', PATH, { format: 'atif', to }), 'unauthenticated');
    expect(await count()).toBe(before);
  });

  test('a tenant sees its own alone, and has its own runs in them', async () => {
    const ours = await ended(await start({ to: { folder: 'same' } }));
    for (const [method, path] of [
      ['GET', `${PATH}s/${ours.id}`],
      ['POST', `${PATH}s/${ours.id}/cancel`],
    ] as const)
      expectProblem(await door.ask('zoe', method, path), 'export_unknown');
    expect((await door.ask('zoe', 'GET', `${PATH}s`)).json).toEqual({ items: [], nextCursor: null });
    const theirs = await ended(await start({ to: { folder: 'same' } }, 'zoe'), 'zoe');
    expect(theirs).toMatchObject({ status: 'completed', tenant: 'elsewhere', progress: { runs: 0, rows: 0 } });
    expect(theirs.folder).not.toBe(ours.folder);
    expect(readFileSync(join(ours.folder, 'manifest.json'), 'utf8')).toContain(ours.id);
    expectProblem(
      await door.ask('zoe', 'POST', PATH, { format: 'atif', to: { s3: `s3://${BUCKET}/exports/x` } }),
      'invalid_request',
    );
  });

  test.runIf(SLOW)(
    'one is cancelled while it is at work, at a terminal, and one that waits behind it over HTTP',
    async () => {
      const { held, release } = hold();
      const working = await start({ options: { runsPerFile: 1 }, to: { s3: `s3://${BUCKET}/exports/working` } });
      const waiting = await start({ to: { folder: 'waiting' } });
      await held;
      expect(await read(working.id)).toMatchObject({ status: 'running', progress: { runs: 3, done: 3 } });
      const env = { HOLDFAST_URL: door.http.url, HOLDFAST_TOKEN: TOKENS.otto.token };
      const said = await runHere(['exports', working.id, '--cancel'], env);
      expect(said).toMatchObject({ code: 0, stdout: expect.stringContaining(`export ${working.id} running`) });
      const asked = await door.ask('otto', 'POST', `${PATH}s/${waiting.id}/cancel`);
      expect(asked.status).toBe(200);
      expect((await door.ask('otto', 'POST', `${PATH}s/${waiting.id}/cancel`)).status).toBe(200);
      expectProblem(await door.ask('vera', 'POST', `${PATH}s/${waiting.id}/cancel`), 'forbidden');
      release();
      expect(await ended(working)).toMatchObject({ status: 'cancelled', files: [], error: null });
      expect(await ended(waiting)).toMatchObject({ status: 'cancelled', files: [] });
      expect([...server.objects.keys()].filter((key) => key.startsWith('exports/working/'))).toEqual([]);
      expect([existsSync(waiting.folder), staged(waiting)]).toEqual([false, []]);
      expectProblem(await door.ask('otto', 'POST', `${PATH}s/${working.id}/cancel`), 'export_over');
      expectProblem(await door.ask('otto', 'POST', `${PATH}s/exp_none/cancel`), 'export_unknown');
      expectProblem(await door.ask('vera', 'GET', `${PATH}s/exp_none`), 'export_unknown');
    },
  );

  test('one is waited for at a terminal, and why it failed is said there', async () => {
    const env = { HOLDFAST_URL: door.http.url, HOLDFAST_TOKEN: TOKENS.otto.token };
    const to = `s3://${BUCKET}/exports/terminal`;
    const asked = ['export', '--format', 'jsonl', '--agent', 'echo', '--to', to, '--wait'];
    const done = await runHere(asked, env);
    expect(done, done.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining('completed: 3 of 3 runs') });
    expect(done.stdout).toContain(to);
    const again = await runHere(asked, env);
    expect(again).toMatchObject({ code: 1, stdout: expect.stringContaining('export_exists') });
    const filters = ['--result', 'failure', 'timeout', '--min-reward', '-1', '--max-reward', '0.5', '--tag', 'july'];
    const filtered = await runHere(
      ['export', '--format', 'jsonl', '--to', `${to}-none`, ...filters, '--wait', '--json'],
      env,
    );
    expect(JSON.parse(filtered.stdout)).toMatchObject({
      request: { filters: { result: ['failure', 'timeout'], minReward: -1, maxReward: 0.5, tag: 'july' } },
      progress: { rows: 0, skipped: { filtered: 3 } },
    });
    const refused = await runHere(['export', '--format', 'jsonl', '--to', 's3://elsewhere/x'], env);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain(`below s3://${BUCKET}/exports`);
    const unset = await runHere(['export', '--format', 'jsonl', '--to', 'hf://datasets/acme/x'], env);
    expect(unset.stderr).toContain('HOLDFAST_EXPORT_HUB');
  });
});
