import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkDataDir } from '../../../src/cli/doctor/check-files.js';
import { readSettings } from '../../../src/config.js';
import { takeDataDir } from '../../../src/storage/database/data-dir/data-dir.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { SLOW } from '../../harness/slow.js';

const modeOf = (path: string): number => statSync(path).mode & 0o777;

/** What others than the owner could do something with. */
const openIn = (dir: string): string[] =>
  readdirSync(dir, { withFileTypes: true, recursive: true })
    .map((one) => join(one.parentPath, one.name))
    .filter((path) => (modeOf(path) & 0o077) !== 0);

describe('The data directory', () => {
  let dir: string;
  const doctor = () => checkDataDir({ ...readSettings({}), dataDir: dir });

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'holdfast-data-'));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  test.runIf(SLOW)(
    'that exists with mode 755 is closed, and so is every file that the database makes in it',
    async () => {
      chmodSync(dir, 0o755);
      expect(doctor()).toMatchObject({ status: 'warn', detail: expect.stringContaining('the next start closes it') });
      const db = await openDatabase({ databaseUrl: null, dataDir: dir });
      // The files of a table are made while the database works.
      await db.pool.query('CREATE TABLE filled AS SELECT n, repeat(n::text, 100) FROM generate_series(1, 1000) AS n');
      expect(openIn(dir)).toEqual([]);
      await db.close();
      expect([modeOf(dir), openIn(dir)]).toEqual([0o700, []]);
      expect(doctor()).toMatchObject({ status: 'ok' });
    },
  );

  test.runIf(SLOW)('of an earlier build is closed by the next start, with all that is in it', async () => {
    await (await openDatabase({ databaseUrl: null, dataDir: dir })).close();
    chmodSync(join(dir, 'pg'), 0o755);
    chmodSync(join(dir, 'pg', 'base'), 0o755);
    chmodSync(join(dir, 'pg', 'PG_VERSION'), 0o666);
    for (const name of ['token', 'signing-key.pub', 'checkpoints.jsonl']) writeFileSync(join(dir, name), '');
    for (const name of ['token', 'signing-key.pub', 'checkpoints.jsonl']) chmodSync(join(dir, name), 0o666);
    chmodSync(dir, 0o777);
    const db = await openDatabase({ databaseUrl: null, dataDir: dir });
    expect([modeOf(dir), openIn(dir)]).toEqual([0o700, []]);
    expect((await db.pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await db.close();
  });

  test('with artifacts of tasks is closed as before: they are ours', () => {
    for (const path of [dir, join(dir, 'artifacts'), join(dir, 'artifacts', 'run_1')]) {
      mkdirSync(path, { recursive: true });
      chmodSync(path, 0o755);
    }
    writeFileSync(join(dir, 'artifacts', 'run_1', 'patch.diff'), '');
    chmodSync(join(dir, 'artifacts', 'run_1', 'patch.diff'), 0o644);
    takeDataDir(dir);
    expect([modeOf(dir), openIn(dir)]).toEqual([0o700, []]);
    expect(doctor()).toMatchObject({ status: 'ok' });
  });

  test('that holds someone else’s files keeps its mode and those files; what is ours is closed', () => {
    chmodSync(dir, 0o755);
    writeFileSync(join(dir, 'index.html'), '');
    chmodSync(join(dir, 'index.html'), 0o644);
    writeFileSync(join(dir, 'token'), '');
    chmodSync(join(dir, 'token'), 0o644);
    takeDataDir(dir);
    expect([dir, join(dir, 'index.html'), join(dir, 'token')].map(modeOf)).toEqual([0o755, 0o644, 0o600]);
    expect(doctor()).toMatchObject({ status: 'warn', detail: expect.stringContaining('it holds index.html') });
  });

  test('in which everybody may put files in the place of ours is refused by name, and doctor says so', () => {
    chmodSync(dir, 0o777);
    mkdirSync(join(dir, 'others'));
    expect(() => takeDataDir(dir)).toThrow(
      expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining('it holds others') }),
    );
    expect(doctor()).toMatchObject({ status: 'fail', wayOut: expect.stringContaining('HOLDFAST_DATA_DIR') });
    takeDataDir(join(dir, 'below'));
    expect([modeOf(dir), modeOf(join(dir, 'below'))]).toEqual([0o777, 0o700]);
  });

  test('closes nothing that a link in it leads to', () => {
    mkdirSync(join(dir, 'public'), { mode: 0o755 });
    mkdirSync(join(dir, 'data'));
    symlinkSync(join(dir, 'public'), join(dir, 'data', 'exports'));
    takeDataDir(join(dir, 'data'));
    expect(modeOf(join(dir, 'public'))).toBe(0o755);
  });
});
