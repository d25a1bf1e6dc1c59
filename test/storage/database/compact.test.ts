import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { createEngine, type Engine } from '../../../src/index.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { compactFiles } from '../../../src/storage/database/pglite/compact.js';
import { createEngineDatabase, type TestDatabase } from '../../harness/database.js';
import { echoAgent } from '../../harness/echo-agent.js';
import { ADMIN, runToRest } from '../../harness/engine.js';
import { SLOW } from '../../harness/slow.js';

const CANARY = 'c4n4ry-that-is-erased';
const MARKER = 'm4rker-that-is-kept';

let database: TestDatabase;
let engine: Engine;
const open = async () => {
  engine = await createEngine({ workerId: 'test', agents: [echoAgent(MARKER)], ...database.options });
};
afterEach(async () => {
  await engine.stop({ graceMs: 1000 });
  await database.drop();
});

/** The files below the data directory in which a text is. */
function filesWith(text: string): string[] {
  const { dataDir } = database.options;
  return readdirSync(dataDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => readFileSync(path).includes(text));
}

it.runIf(SLOW)('an erasure takes what it erases out of the files of the embedded database', async () => {
  database = await createEngineDatabase('pglite');
  await open();
  const { id } = await runToRest(engine, 'echo', CANARY);
  await runToRest(engine, 'echo', MARKER);
  expect(filesWith(CANARY)).not.toEqual([]);
  await engine.eraseRun(id, { reason: 'asked for' }, ADMIN);
  await expect.poll(() => filesWith(CANARY), { timeout: 80_000, interval: 500 }).toEqual([]);
  expect(filesWith(MARKER)).not.toEqual([]);
  expect(await engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true });
});

it.runIf(SLOW)(
  'compacting leaves out what is too large, is stopped between two tables, and may be repeated',
  async () => {
    database = await createEngineDatabase('pglite');
    await open();
    const { id } = await runToRest(engine, 'echo', MARKER);
    await engine.stop({ graceMs: 1000 });
    const opened = await openDatabase(database.options);
    const all = { maxBytes: null, isStopping: () => false };
    expect(await compactFiles(opened.knex, { ...all, isStopping: () => true })).toBe(null);
    expect(await compactFiles(opened.knex, { ...all, maxBytes: 0 })).toContain('holdfast.events');
    expect(await compactFiles(opened.knex, all)).toEqual([]);
    expect(await compactFiles(opened.knex, all)).toEqual([]);
    await opened.close();
    await open();
    expect(await engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true });
  },
);
