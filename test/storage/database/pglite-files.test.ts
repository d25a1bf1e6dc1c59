import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../../src/storage/database/database.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { createTestDatabase, newDir, type TestDatabase } from '../../harness/database.js';
import { SLOW } from '../../harness/slow.js';
import { noSmallDisk, openSmallDisk } from '../../harness/small-disk.js';
import { runChild } from '../child.js';

const open = (dataDir: string): Promise<Database> => openDatabase({ databaseUrl: null, dataDir });

// Commits numbers one by one, in pairs of rows, and says each one that was acknowledged.
const WRITE = `
import { openDatabase } from './database/open-database.js';
const db = await openDatabase({ databaseUrl: null, dataDir: DIR });
await db.pool.query('CREATE TABLE IF NOT EXISTS numbers (n int, half text, PRIMARY KEY (n, half))');
for (let n = FROM; ; n += 1) {
  await db.knex.transaction(async (trx) => {
    await trx('numbers').insert({ n, half: 'a' });
    await trx('numbers').insert({ n, half: 'b' });
  });
  console.log(n);
}`;

describe('The files of PGlite', () => {
  let place: TestDatabase;
  let dir: string;

  beforeAll(async () => {
    place = await createTestDatabase('pglite');
    dir = place.options.dataDir;
  });
  afterAll(() => place.drop());

  const copy = async (): Promise<string> => {
    const target = await newDir();
    cpSync(dir, target, { recursive: true });
    return target;
  };

  test.runIf(SLOW)('belong to one process, are given back at the end, and keep what was committed', async () => {
    const db = await open(dir);
    await expect(open(dir)).rejects.toMatchObject({ code: 'data_dir_in_use' });
    await db.pool.query('CREATE TABLE kept (n int)');
    await db.close();
    expect(readdirSync(dir)).toEqual(['.gitignore', 'pg']);
    const again = await open(dir);
    await again.pool.query('SELECT n FROM kept');
    await again.close();
  });

  test.runIf(SLOW)(
    'lose nothing that was acknowledged when the process is killed, and open again at once',
    async () => {
      let last = -1;
      for (let round = 0; round < 3; round += 1) {
        const writer = runChild(WRITE.replace('DIR', JSON.stringify(dir)).replace('FROM', `${last + 1}`));
        for (let i = 0; i < 20 + round; i += 1) last = Number((await writer.line()) ?? Number.NaN);
        await writer.kill();
        for (let said = await writer.line(); said !== null; said = await writer.line()) last = Number(said);
        const db = await open(dir);
        const rows = await db.knex('numbers').select('n').count({ halves: '*' }).groupBy('n').orderBy('n');
        expect(rows.every(({ halves }) => halves === '2')).toBe(true);
        expect(rows.length).toBeGreaterThan(last);
        last = rows.length - 1;
        await db.close();
      }
    },
  );

  test.runIf(SLOW)('are made again when the first start was killed', async () => {
    const path = await newDir();
    mkdirSync(join(path, 'pg', 'base'), { recursive: true });
    writeFileSync(join(path, 'pg', 'PG_VERSION'), '18\n');
    writeFileSync(join(path, 'pg-is-being-made'), '');
    const db = await open(path);
    expect((await db.pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await db.close();
    expect(readdirSync(path)).toEqual(['.gitignore', 'pg']);
    rmSync(path, { recursive: true });
  });

  const why = SLOW ? noSmallDisk() : 'slow: HOLDFAST_TEST_SLOW=1 runs it';
  test.skipIf(why !== null)('are not called broken where the disk is full, at a first start and later', async () => {
    const disk = openSmallDisk(100);
    const refused = { code: 'config_invalid', message: expect.stringContaining('cannot be used: ENOSPC.') };
    try {
      mkdirSync(join(disk.dir, 'new'));
      cpSync(await copy(), join(disk.dir, 'old'), { recursive: true });
      disk.fill();
      await expect(open(join(disk.dir, 'new'))).rejects.toMatchObject(refused);
      await expect(open(join(disk.dir, 'old'))).rejects.toMatchObject(refused);
      disk.makeRoom();
      await (await open(join(disk.dir, 'old'))).close();
      await (await open(join(disk.dir, 'new'))).close();
    } finally {
      disk.close();
    }
  });

  const DAMAGES: Record<string, (pg: string) => void> = {
    'the control file is cut': (pg) => truncateSync(join(pg, 'global/pg_control'), 10),
    'the log is missing': (pg) => rmSync(join(pg, 'pg_wal'), { recursive: true }),
    'they are of another version': (pg) => writeFileSync(join(pg, 'PG_VERSION'), '12\n'),
    'the version is missing': (pg) => rmSync(join(pg, 'PG_VERSION')),
    'they are no directory': (pg) => {
      rmSync(pg, { recursive: true });
      writeFileSync(pg, 'x');
    },
  };
  test.runIf(SLOW).each(Object.entries(DAMAGES))(
    'are refused, and left as they are, when %s',
    async (_what, damage) => {
      const path = await copy();
      damage(join(path, 'pg'));
      await expect(open(path)).rejects.toMatchObject({
        code: 'database_corrupt',
        message: expect.stringMatching(new RegExp(`${join(path, 'pg')} cannot be opened: .{8}`)),
      });
      expect(existsSync(join(path, 'pg'))).toBe(true);
      expect(readdirSync(path)).toEqual(['.gitignore', 'pg']);
      rmSync(path, { recursive: true });
    },
  );
});
