import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from '@openai/agents';
import { afterAll, expect, it } from 'vitest';
import { defineAgent, functionModel } from '../../../src/index.js';
import { artifactFolder } from '../../../src/object-store/artifact-store.js';
import { dropArtifacts, takeDropped } from '../../../src/storage/tasks/artifacts.js';
import { ArtifactKeeper } from '../../../steps/verification/keep-artifacts.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, engineFor, runToRest } from '../../harness/engine.js';
import { say } from '../../harness/script.js';

/** A worker that was frozen while it kept artifacts, and wakes after the run was erased. */

const dir = mkdtempSync(join(tmpdir(), 'holdfast-late-'));
afterAll(() => rmSync(dir, { recursive: true }));
const agents = [
  defineAgent({ agent: new Agent({ name: 'brief', model: functionModel('brief', async () => [say('done')]) }) }),
];

describeEachDatabase('artifacts of a run that was erased', (kind) => {
  const t = engineFor(kind, { agents });
  const store = artifactFolder(join(dir, kind));
  const report = { name: 'file-1', kind: 'file', path: 'report', bytes: Buffer.from('private') } as const;

  it('are not put into the store any more, and one that is there with the erasure goes again', async () => {
    const { id } = await runToRest(t.engine, 'brief');
    const { id: erased } = await runToRest(t.engine, 'brief');
    await t.engine.eraseRun(erased, { reason: 'asked' }, ADMIN);
    await t.between(async (knex) => {
      const late = new ArtifactKeeper({ knex, artifacts: store }, { id: erased, bytesLeft: 1000 });
      await late.keep(report);
      expect(late.kept()).toEqual({ items: [], leftOut: [{ path: 'report', why: 'the run was erased' }], more: 0 });
      expect(existsSync(join(dir, kind, erased))).toBe(false);
      expect(await knex('holdfast.artifacts').where({ run_id: erased })).toEqual([]);

      const erasing = { ...store, put: (...of: Parameters<typeof store.put>) => erase().then(() => store.put(...of)) };
      const erase = () =>
        knex.transaction(async (trx) => {
          await trx('holdfast.runs').where({ id }).update({ erased_at: new Date() });
          await dropArtifacts(trx, id);
        });
      await new ArtifactKeeper({ knex, artifacts: erasing }, { id, bytesLeft: 1000 }).keep(report);
      expect(await takeDropped(knex, store.place, 1, 1000)).toEqual([id]);
      expect(existsSync(join(dir, kind, id))).toBe(false);
    });
  });
});
