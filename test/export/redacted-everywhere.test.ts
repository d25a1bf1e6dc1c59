import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from '@openai/agents';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { EXPORT_FORMATS } from '../../src/core/exports/export.js';
import { defineAgent, defineTool, type ExportView } from '../../src/index.js';
import { describeEachDatabase } from '../harness/database.js';
import { ADMIN, engineFor, pendingOf, restOf } from '../harness/engine.js';
import { call, say, scripted } from '../harness/script.js';
import { ended, rowsIn } from './exported.js';

/** A mark is in every text of a run that people or models write; no format may repeat it after a redaction. */

const MARK = 'ann@example.com';

const look = defineTool({
  ...{ name: 'look', description: `Looks for ${MARK}.`, effect: 'pure' },
  input: z.object({
    what: z.string().describe(`Such as ${MARK}.`).default(MARK),
    kind: z.enum([MARK, 'other']),
    within: z.object({ description: z.string().describe(`Of ${MARK}.`) }).optional(),
  }),
  output: z.object({ found: z.string() }),
  execute: ({ what }) => ({ found: `all about ${what}` }),
});
const breaks = defineTool({
  ...{ name: 'breaks', description: 'Never works.', effect: 'pure', input: z.object({}), output: z.string() },
  execute: () => {
    throw new Error(`out of order for ${MARK}`);
  },
});
const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', effect: 'unsafe', approval: true },
  ...{ input: z.object({ cents: z.int() }), output: z.string() },
  execute: ({ cents }) => `paid ${cents}`,
});

const outputs = [
  [say(`I look for ${MARK}.`), call('look', { what: MARK, kind: MARK }, 'c1'), call('breaks', {}, 'c2')],
  [call('pay', { cents: 5 }, 'c3')],
];
const agent = (name: string, more: typeof outputs = []) =>
  defineAgent({
    agent: new Agent({
      ...{ name, instructions: `You help ${MARK}.`, tools: [look, breaks, pay] },
      model: scripted([...outputs, ...more]),
    }),
    grants: ['tool:call:*'],
  });
const scratch = mkdtempSync(join(tmpdir(), 'holdfast-redacted-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

describeEachDatabase('a redaction', (kind) => {
  const t = engineFor(kind, { agents: [agent('clerk')], exportDir: join(scratch, kind) });
  const metadata = { taskId: `of ${MARK}`, tags: [`tagged ${MARK}`], note: MARK };

  async function run(input: string) {
    const { id } = await t.engine.startRun({ agent: 'clerk', input, metadata }, ADMIN);
    await restOf(t.engine, id);
    return id;
  }
  const textOf = (view: ExportView) =>
    ['README.md', ...view.files.map(({ path }) => path)]
      .map((path) => readFileSync(join(view.folder, path), 'utf8'))
      .join('\n');

  beforeAll(async () => {
    for (const [message, reward] of [
      ['yes', 1],
      [`not for ${MARK}`, 0.5],
    ] as const) {
      const id = await run(`Help ${MARK}.`);
      const pending = await pendingOf(t.engine, id, 'pay');
      const verdict = reward === 1 ? ({ verdict: 'approve' } as const) : ({ verdict: 'reject', message } as const);
      await t.engine.decide(pending?.id ?? '', verdict, { ...ADMIN, actor: 'bob' });
      await restOf(t.engine, id);
      await t.engine.rewardRun(id, { reward, signals: { [MARK]: reward }, reason: `Says ${MARK}.` }, ADMIN);
    }
    await t.engine.cancelRun(await run('Stop.'), `asked by ${MARK}`, ADMIN);
  });

  it('leaves nothing of a text in any format, nor in the evidence', async () => {
    const redact = { patterns: [{ pattern: '[\\w.]+@[\\w.]+', replacement: '<mail>' }] };
    for (const [index, format] of EXPORT_FORMATS.entries()) {
      const status = ['completed', 'failed', 'cancelled'] as const;
      const options = { redact, deduplicate: false };
      const asked = { format, filters: { status: [...status] }, options, to: { folder: `f${index}` } };
      const view = await ended(t.engine, await t.engine.startExport(asked, ADMIN));
      expect(view).toMatchObject({ status: 'completed', error: null });
      expect(view.progress.rows).toBe(format === 'preference' ? 1 : 3);
      const text = textOf(view);
      expect(text, format).toContain('<mail>');
      expect(text.indexOf(MARK) < 0 ? '' : text.slice(text.indexOf(MARK) - 200).slice(0, 260), format).toBe('');
    }
  });

  it('of fields hides tags and tasks by their names, and keeps the names of arguments', async () => {
    const options = { redact: { keys: ['taskId', 'tags', 'what'] } };
    const asked = { format: 'atif', options, to: { folder: 'keys' } } as const;
    const view = await ended(t.engine, await t.engine.startExport(asked, ADMIN));
    const [row] = view.files
      .filter(({ split }) => split !== null)
      .flatMap(({ path }) => rowsIn(join(view.folder, path)));
    const text = JSON.stringify(row);
    expect(text).not.toContain(`of ${MARK}`);
    expect(text).not.toContain(`tagged ${MARK}`);
    expect(text).toContain('"what":"[redacted]"');
    expect(text).toContain('"what":{"description"');
  });

  it('is the record of a trajectory where nothing is redacted', async () => {
    const view = await ended(t.engine, await t.engine.startExport({ format: 'jsonl', to: { folder: 'whole' } }, ADMIN));
    const rows = view.files
      .filter(({ split }) => split !== null)
      .flatMap(({ path }) => rowsIn(join(view.folder, path)));
    expect(rows.length).toBeGreaterThan(0);
    for (const { run_id, trajectory } of rows) {
      const { integrity, ...record } = await t.engine.getTrajectory(String(run_id), ADMIN);
      expect(integrity).toEqual([]);
      expect(record.diversityScore).not.toBeNull();
      expect(record.steps[0]?.info.worker).toBe('test');
      expect(trajectory).toEqual(record);
    }
  });

  it('leaves out a run whose environment cannot be read, and no other', async () => {
    const [damaged] = (await t.engine.listRuns({ status: 'completed', limit: 1 }, ADMIN)).items;
    const row = { run_id: damaged?.id, purpose: 'run', attempt: 1, tenant: 'default', engine: 'e', key: 'k' };
    await t.between((knex) =>
      knex('holdfast.environments').insert({ ...row, spec: 'no JSON', spec_hash: 'x', deadline: new Date() }),
    );
    const view = await ended(t.engine, await t.engine.startExport({ format: 'jsonl', to: { folder: 'left' } }, ADMIN));
    expect(view).toMatchObject({ status: 'completed', progress: { runs: 2, rows: 1, skipped: { row_changed: 1 } } });
  });
});
