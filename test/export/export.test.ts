import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { ChatMessage } from '../../src/core/exports/chat-row.js';
import { datasetFields } from '../../src/core/exports/dataset-field.js';
import type { ExportView, StartExport } from '../../src/index.js';
import { describeEachDatabaseSlowly } from '../harness/database.js';
import { ADMIN, decideAndRest, engineFor, restOf, runToRest } from '../harness/engine.js';
import { config } from './agents.js';
import { atifProblems } from './atif-schema.js';
import { ended, rowsIn } from './exported.js';
import { byDuckdb, byHyparquet, type Row, withNulls } from './read-parquet.js';

/** Exports of real runs into a folder. */

const scratch = mkdtempSync(join(tmpdir(), 'holdfast-exports-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

describeEachDatabaseSlowly('an export', (kind) => {
  const dir = join(scratch, kind);
  const t = engineFor(kind, { ...config, exportDir: dir });
  let folders = 0;

  const exported = async (request: Omit<StartExport, 'to'>, folder = `folder-${++folders}`) =>
    ended(t.engine, await t.engine.startExport({ ...request, to: { folder } }, ADMIN));
  const rowsOf = (view: ExportView, split = 'train') =>
    view.files.filter((file) => file.split === split).flatMap(({ path }) => rowsIn(join(view.folder, path)));
  const messagesOf = (row: Row | undefined) => row?.['messages'] as ChatMessage[];

  beforeAll(async () => {
    const approved = await runToRest(t.engine, 'worker');
    await decideAndRest(t.engine, approved.id, { verdict: 'approve', arguments: { cents: 3 } });
    const rejected = await runToRest(t.engine, 'worker', 'go again');
    await decideAndRest(t.engine, rejected.id, { verdict: 'reject', message: 'not today' });
    for (const agent of ['looker', 'looker', 'front']) await runToRest(t.engine, agent);
    const chief = await t.engine.startRun({ agent: 'chief', input: 'go' }, ADMIN);
    for (;;) if ((await restOf(t.engine, chief.id)).status === 'completed') break;
    const other = await t.engine.startRun({ agent: 'looker', input: 'go' }, { ...ADMIN, tenant: 'other' });
    await t.engine.getRun(other.id, { ...ADMIN, tenant: 'other' }, { waitMs: 20_000 });
  });

  it('has a row for each conversation that an agent read, and says where it comes from', async () => {
    const view = await exported({ format: 'messages' });
    expect(view.error).toBeNull();
    const rows = rowsOf(view);
    // Two of worker, one of looker (the second says the same), two of front, two of chief with the child of it.
    expect(rows.map(({ agent }) => agent)).toEqual([
      'worker',
      'worker',
      'looker',
      'front',
      'desk',
      'looker',
      'chief',
      'helper',
    ]);
    expect(view.progress).toEqual({ runs: 7, done: 7, rows: 8, sending: null, skipped: { duplicate: 1 } });
    expect(new Set(rows.map(({ id }) => id)).size).toBe(8);

    const [edited, rejected] = rows;
    expect(messagesOf(edited)).toEqual([
      { role: 'system', content: 'You are worker.' },
      { role: 'user', content: 'go' },
      expect.objectContaining({ role: 'assistant', content: '' }),
      {
        role: 'tool',
        name: 'look',
        tool_call_id: 'c1',
        content: '{"email":"ann@example.com","found":"all about bills"}',
      },
      expect.objectContaining({ role: 'tool', name: 'breaks', content: expect.stringContaining('out of order') }),
      expect.objectContaining({
        tool_calls: [{ id: 'c3', type: 'function', function: { name: 'pay', arguments: { cents: 3 } } }],
      }),
      { role: 'tool', name: 'pay', tool_call_id: 'c3', content: 'paid 3' },
      expect.objectContaining({ role: 'assistant' }),
    ]);
    expect(messagesOf(rejected)).toContainEqual(expect.objectContaining({ name: 'pay', content: 'not today' }));
    expect(edited?.['tools']).toContainEqual({
      type: 'function',
      function: expect.objectContaining({
        name: 'pay',
        description: 'Pays.',
        parameters: expect.objectContaining({ type: 'object' }),
      }),
    });

    const [front, taken] = rows.filter(({ agent }) => agent === 'front' || agent === 'desk');
    expect(front).toMatchObject({ context_messages: 0 });
    expect(taken).toMatchObject({ context_messages: 4, model: 'desk' });
    expect(messagesOf(taken).map(({ role, content }) => `${role} ${content}`)).toEqual([
      ...['system You are the desk.', 'user go', 'assistant ', 'tool {"assistant":"desk"}'],
      'assistant the desk read 1 results',
    ]);
    const inner = rows.find(({ agent }) => agent === 'helper');
    expect(messagesOf(inner)[0]).toEqual({ role: 'user', content: 'help me' });
    expect(messagesOf(inner).filter(({ role }) => role === 'tool')).toHaveLength(1);
  });

  it('is the evidence of what it was made from', async () => {
    const view = await exported({ format: 'prime-rl', options: { deduplicate: false } });
    expect(view.progress).toMatchObject({ rows: 9, skipped: {} });
    const manifest = JSON.parse(readFileSync(join(view.folder, 'manifest.json'), 'utf8'));
    expect(manifest).toMatchObject({ export: view.id, runs: 7, request: { format: 'prime-rl' } });
    for (const { path, sha256 } of manifest.files)
      expect(
        createHash('sha256')
          .update(readFileSync(join(view.folder, path)))
          .digest('hex'),
      ).toBe(sha256);
    const evidence = rowsIn(join(view.folder, 'evidence/runs-00000-of-00001.jsonl'));
    expect(evidence).toHaveLength(7);
    for (const { run, head } of evidence) {
      const report = await t.engine.verifyRun(String(run), ADMIN);
      expect(report).toMatchObject({ ok: true, headHash: (head as { hash: string }).hash });
    }
    for (const { tools } of rowsOf(view)) expect(JSON.parse(String(tools))).toBeInstanceOf(Array);
    expect(readdirSync(view.folder).sort()).toEqual(['README.md', 'data', 'evidence', 'manifest.json']);
    const [, head = ''] = readFileSync(join(view.folder, 'README.md'), 'utf8').split('---\n');
    expect(parse(head)).toMatchObject({
      configs: [{ config_name: 'default', data_files: [{ split: 'train', path: 'data/train-*.jsonl' }] }],
      dataset_info: { splits: [{ name: 'train', num_examples: 9 }] },
    });
  });

  it('is the same, byte by byte, when it is made again', async () => {
    for (const encoding of ['jsonl', 'parquet'] as const) {
      const request: Omit<StartExport, 'to'> = { format: 'messages', options: { encoding, validation: 0.5 } };
      const [one, two] = [await exported(request), await exported(request)];
      expect(one.files.map(({ sha256 }) => sha256)).toEqual(two.files.map(({ sha256 }) => sha256));
    }
  });

  it('has the same rows and evidence as Parquet', async () => {
    const request = { format: 'messages', options: { validation: 0.4, runsPerFile: 3 } } as const;
    const lines = await exported(request);
    const view = await exported({ ...request, options: { ...request.options, encoding: 'parquet' } });
    expect(view).toMatchObject({ status: 'completed', progress: lines.progress });
    const fields = datasetFields('messages', { reasoningKey: 'reasoning_content', media: 'placeholder' });
    for (const [index, file] of view.files.entries()) {
      const other = lines.files[index];
      expect(file).toMatchObject({ split: other?.split, rows: other?.rows });
      if (file.split === null) {
        expect(file).toEqual(other);
        continue;
      }
      expect(file.path).toBe(other?.path.replace(/jsonl$/, 'parquet'));
      const expected = withNulls(rowsIn(join(lines.folder, other?.path ?? '')), fields);
      for (const read of [byHyparquet, byDuckdb])
        expect(await read(join(view.folder, file.path), fields)).toStrictEqual(expected);
    }
    const [, head = ''] = readFileSync(join(view.folder, 'README.md'), 'utf8').split('---\n');
    expect(parse(head)).toMatchObject({
      configs: [{ data_files: [{ path: 'data/train-*.parquet' }, { path: 'data/validation-*.parquet' }] }],
    });
  });

  it('is ATIF, with agents behind tools and sub-agents as documents within', async () => {
    const view = await exported({ format: 'atif', filters: { agent: 'chief' } });
    const [row] = rowsOf(view);
    const document = row?.['trajectory'] as { steps: object[]; subagent_trajectories: { agent: { name: string } }[] };
    expect(atifProblems(document)).toEqual([]);
    expect(document.subagent_trajectories.map(({ agent }) => agent.name)).toEqual(['helper', 'looker']);
    const all = rowsOf(await exported({ format: 'atif' }));
    for (const { trajectory } of all) expect(atifProblems(trajectory)).toEqual([]);
    expect(JSON.stringify(all[0])).toContain('"asked_arguments":{"cents":5}');
  });

  it('is only of the runs that were asked for', async () => {
    const of = async (filters: StartExport['filters']) => (await exported({ format: 'jsonl', filters })).progress;
    expect(await of({ agent: 'looker' })).toMatchObject({ runs: 3, rows: 2 });
    expect(await of({ model: 'desk' })).toMatchObject({ runs: 7, rows: 1, skipped: { filtered: 6 } });
    expect(await of({ result: ['failure'] })).toMatchObject({ rows: 0 });
    expect(await of({ tag: 'none' })).toMatchObject({ rows: 0 });
    expect(await of({ minReward: 0 })).toMatchObject({ rows: 0 });
    expect(await of({ status: ['failed', 'cancelled'] })).toMatchObject({ runs: 0, rows: 0 });
    expect(await of({ until: '2020-01-01T00:00:00Z' })).toMatchObject({ runs: 0 });
    expect(await of({ since: '2020-01-01T00:00:00Z' })).toMatchObject({ runs: 7 });
    // Times that PostgreSQL reads in no text.
    expect(await of({ since: '0000-01-01T00:00:00Z', until: '9999-12-31T23:59:59-23:59' })).toMatchObject({ runs: 7 });
    await expect(t.engine.getExport('exp_x', ADMIN)).rejects.toMatchObject({ code: 'export_unknown' });
    const { items } = await t.engine.listExports({ limit: 1 }, { ...ADMIN, tenant: 'other' });
    expect(items).toEqual([]);
  });

  it('says nothing of what is redacted', async () => {
    const redact = { patterns: [{ pattern: '[\\w.]+@[\\w.]+', replacement: '<mail>' }], keys: ['FOUND'] };
    for (const format of ['messages', 'sharegpt', 'atif', 'jsonl'] as const) {
      const view = await exported({ format, filters: { agent: 'looker' }, options: { redact } });
      const text = view.files.map(({ path }) => readFileSync(join(view.folder, path), 'utf8')).join('');
      expect(text).toContain('<mail>');
      expect(text).not.toContain('ann@');
      // A field is gone from the result. That the model said its value once more, no name of a field can tell.
      expect(text).toMatch(/found[\\\\]*":[\\\\]*"\[redacted\]/);
    }
  });

  it('refuses what leads out of its directory, and rules that are too large or are none', async () => {
    const refused = async (request: StartExport, pointer: string) =>
      expect(t.engine.startExport(request, ADMIN)).rejects.toMatchObject({
        code: 'invalid_request',
        fields: [expect.objectContaining({ pointer: expect.stringContaining(pointer) })],
      });
    for (const folder of ['../out', '/etc/x', 'a/../../b', '.hidden', 'a//b', 'a\\b', 'a\u0000', ''])
      await refused({ format: 'atif', to: { folder } }, '/to/folder');
    for (const pattern of ['(?=x)y', '(x)\\1', '[', `(?:${'a'.repeat(400)}){1000}`])
      await refused(
        { format: 'atif', to: { folder: 'x' }, options: { redact: { patterns: [{ pattern }] } } },
        '/options/redact/patterns/0/pattern',
      );
    symlinkSync(tmpdir(), join(dir, 'default', 'link'));
    expect(await exported({ format: 'atif' }, 'link/x')).toMatchObject({
      status: 'failed',
      error: { code: 'export_not_writable' },
    });
  });

  it('ends a rule that takes too long, and leaves nothing behind', async () => {
    await runToRest(t.engine, 'looker', `${'a'.repeat(60_000)}!`);
    const redact = { patterns: [{ pattern: '[a-z]{1000}[a-z]{1000}' }] };
    const view = await exported({ format: 'messages', options: { redact } }, 'slow');
    expect(view).toMatchObject({ status: 'failed', error: { code: 'export_too_slow' } });
    expect(existsSync(view.folder)).toBe(false);
  }, 60_000);

  it('never writes over what is there', async () => {
    const first = await exported({ format: 'messages' }, 'taken');
    const before = readFileSync(join(first.folder, 'manifest.json'), 'utf8');
    expect(await exported({ format: 'atif' }, 'taken')).toMatchObject({
      status: 'failed',
      error: { code: 'export_exists' },
    });
    expect(readFileSync(join(first.folder, 'manifest.json'), 'utf8')).toBe(before);
    expect(await exported({ format: 'atif' }, 'taken/below')).toMatchObject({
      status: 'failed',
      error: { code: 'export_exists', message: expect.stringContaining('within another export') },
    });
    expect(existsSync(join(first.folder, 'below'))).toBe(false);
    await expect(t.engine.cancelExport(first.id, ADMIN)).rejects.toMatchObject({ code: 'export_over' });
    expect(readdirSync(join(dir, 'default')).filter((name) => name.startsWith('.'))).toEqual([]);
  });
});
