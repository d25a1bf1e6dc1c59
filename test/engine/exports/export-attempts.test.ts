import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from '@openai/agents';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { defineAgent } from '../../../src/index.js';
import { beginWork } from '../../../src/storage/queue/work-notes.js';
import { ended } from '../../export/exported.js';
import { describeBothDatabasesSlowly } from '../../harness/database.js';
import { ADMIN, openTestEngine, runToRest, type TestEngine } from '../../harness/engine.js';
import { say, scripted } from '../../harness/script.js';

const scratch = mkdtempSync(join(tmpdir(), 'holdfast-attempts-'));
afterAll(() => rmSync(scratch, { recursive: true }));

describeBothDatabasesSlowly('an export that workers died with', (kind) => {
  let t: TestEngine;
  beforeAll(async () => {
    const agents = [defineAgent({ agent: new Agent({ name: 'echo', model: scripted([[say('hello')]]) }) })];
    t = await openTestEngine(kind, { agents, exportDir: join(scratch, kind), crashLimit: 3 });
    await runToRest(t.engine, 'echo');
  });
  afterAll(() => t.close());

  const dead = (epoch: number) => ({ id: 'dead', epoch });
  /** An export that no one works on yet, as processes left it that began it and did not come to its end. */
  const after = async (folder: string, left: (begin: (epoch: number) => Promise<number>) => Promise<unknown>) => {
    const api = await t.restart({ role: 'api' });
    const { id } = await api.startExport({ format: 'messages', to: { folder } }, ADMIN);
    await t.between(async (knex) => {
      const work = { tenant: 'default', name: `export ${id} begin` };
      await left(async (epoch) => (await beginWork(knex, work, dead(epoch))).deaths);
    });
    return ended(t.engine, await t.engine.getExport(id, ADMIN));
  };

  it('fails by name after as many deaths with one piece as the limit says', async () => {
    const view = await after('often', async (begin) => {
      for (const epoch of [1, 2, 3]) await begin(epoch);
    });
    expect(view).toMatchObject({ status: 'failed', error: { code: 'export_crashes' } });
    expect(view.error?.message).toContain('3 times a worker died with the export at "begin"');
  });

  it('goes on after fewer', async () => {
    const view = await after('seldom', async (begin) => {
      for (const epoch of [1, 2]) await begin(epoch);
    });
    expect(view).toMatchObject({ status: 'completed', error: null });
  });
});
