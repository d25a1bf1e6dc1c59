import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { lockDataDir } from '../../../src/storage/database/data-dir/data-dir-lock.js';
import { SLOW } from '../../harness/slow.js';
import { runChild } from '../child.js';

const OWN = `
import { lockDataDir } from './database/data-dir/data-dir-lock.js';
try {
  const lock = lockDataDir(DIR);
  console.log('owner');
  process.stdin.once('data', () => { lock.release(); process.exit(0); });
  setInterval(() => {}, 1000);
} catch (error) {
  console.log(error.code);
}`;
// Races for many directories, each at an instant that all racers know.
const RACE = `
import { lockDataDir } from './database/data-dir/data-dir-lock.js';
console.log('ready');
const start = await new Promise((resolve) => process.stdin.once('data', (said) => resolve(Number(said))));
const owned = [];
DIRS.forEach((dir, i) => {
  while (Date.now() < start + i * 10);
  try {
    lockDataDir(dir);
    owned.push(dir);
  } catch (error) {
    if (error.code !== 'data_dir_in_use') throw error;
  }
});
console.log(JSON.stringify(owned));
setInterval(() => {}, 1000);`;
const GONE = { startedAt: '1', id: '11111111-1111-4111-8111-111111111111' };

/** Without `.gitignore`, which stays. */
const filesIn = (folder: string): string[] => readdirSync(folder).filter((name) => name !== '.gitignore');

describe('The lock of the data directory', () => {
  let dir: string;
  const own = (path = dir) => runChild(OWN.replace('DIR', JSON.stringify(path)));
  const writeLock = (content: unknown) => writeFileSync(join(dir, 'lock'), JSON.stringify(content));

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'holdfast-lock-'));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  test('makes the directory and its file for this user alone', () => {
    const path = join(dir, 'a', 'b');
    const lock = lockDataDir(path);
    expect(statSync(path).mode & 0o777).toBe(0o700);
    expect(statSync(join(path, 'lock')).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(join(path, 'lock'), 'utf8'))).toMatchObject({ pid: process.pid });
    lock.release();
    lock.release();
    expect(filesIn(path)).toEqual([]);
  });

  test.runIf(SLOW)('refuses a second owner, in this process and in another, and says who has it', async () => {
    const lock = lockDataDir(dir);
    expect(() => lockDataDir(dir)).toThrow(
      expect.objectContaining({ code: 'data_dir_in_use', message: expect.stringContaining(`${process.pid}`) }),
    );
    expect(() => lockDataDir(dir)).toThrow(join(dir, 'lock'));
    expect(await own().line()).toBe('data_dir_in_use');
    lock.release();
    const child = own();
    expect(await child.line()).toBe('owner');
    expect(() => lockDataDir(dir)).toThrow(`Process ${child.process.pid}`);
    child.process.stdin?.write('\n');
    expect(await child.line()).toBeNull();
    lockDataDir(dir).release();
  });

  test('is free at once when its owner was killed', async () => {
    const child = own();
    expect(await child.line()).toBe('owner');
    await child.kill();
    const lock = lockDataDir(dir);
    expect(filesIn(dir)).toEqual(['lock']);
    lock.release();
  });

  test('is taken over from a former process whose pid now belongs to another', () => {
    writeLock({ ...GONE, pid: process.pid });
    lockDataDir(dir).release();
    writeLock({ ...GONE, pid: 1 });
    lockDataDir(dir).release();
  });

  test('is taken over when its file is damaged', () => {
    for (const content of ['', '{', '{"pid":-1}', 'null', '\0\0\0']) {
      writeFileSync(join(dir, 'lock'), content);
      lockDataDir(dir).release();
    }
    expect(filesIn(dir)).toEqual([]);
  });

  test.runIf(SLOW)('goes to exactly one of those who race for a dead lock', async () => {
    const dirs = Array.from({ length: 60 }, (_, i) => join(dir, `${i}`));
    for (const path of dirs) {
      mkdirSync(path);
      writeFileSync(join(path, 'lock'), JSON.stringify({ ...GONE, pid: 2 ** 22 + 1 }));
    }
    const racers = [1, 2, 3, 4].map(() => runChild(RACE.replace('DIRS', JSON.stringify(dirs))));
    for (const racer of racers) expect(await racer.line()).toBe('ready');
    const startAt = Date.now() + 100;
    for (const racer of racers) racer.process.stdin?.write(`${startAt}\n`);
    const owned = await Promise.all(racers.map(async (racer) => JSON.parse((await racer.line()) ?? '')));
    expect(owned.flat().toSorted()).toEqual(dirs.toSorted());
    await Promise.all(racers.map((racer) => racer.kill()));
  });

  test('survives that an heir dies at any point of its succession', () => {
    const heir = { ...GONE, pid: 2 ** 22 + 1, id: '22222222-2222-4222-8222-222222222222' };
    writeLock({ ...GONE, pid: 2 ** 22 + 1 });
    writeFileSync(join(dir, `lock.${GONE.id}`), JSON.stringify(heir));
    writeFileSync(join(dir, `lock.draft.${heir.pid}.${heir.id}`), JSON.stringify(heir));
    const lock = lockDataDir(dir);
    expect(filesIn(dir)).toEqual(['lock']);
    lock.release();
  });

  test('says that a directory cannot be used', () => {
    const path = join(dir, 'file');
    writeFileSync(path, '');
    // Nothing can be made in /proc, where Node's own way would try forever.
    for (const place of [path, '/proc/holdfast'])
      expect(() => lockDataDir(place)).toThrow(
        expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining(place) }),
      );
  });
});
