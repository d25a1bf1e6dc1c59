import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readScan, scanCommand } from '../../steps/containers/watched-environment.js';

/** What finds changed files, by the shell of this machine: that of Debian takes a backslash for more than itself. */

const NAMES = ['a\\tb', 'x\\c', '\\0101', '-n', ' two  spaces ', 'a|b', 'grüße', '*', "it's", 'ends\\'];

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'holdfast-scan-'));
  for (const name of ['work', 'records']) mkdirSync(join(root, name));
});
afterEach(() => rmSync(root, { recursive: true }));

const scan = (how: 'begin' | 'compare') => {
  const argv = scanCommand('/work', 100, how).argv.map((one) =>
    one === '/work' ? join(root, 'work') : one === '/.holdfast' ? join(root, 'records') : one,
  );
  const [program = '', ...rest] = argv;
  return readScan(execFileSync(program, rest, { encoding: 'utf8' }));
};

it('names files as they are named', () => {
  scan('begin');
  for (const name of NAMES) writeFileSync(join(root, 'work', name), name);
  const found = scan('compare');
  const digest = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`;
  const wanted = NAMES.map((name) => [name, 'written', digest(name), Buffer.byteLength(name)]);
  expect(found?.files.map(({ path, change, digest: of, sizeBytes }) => [path, change, of, sizeBytes]).sort()).toEqual(
    wanted.sort(),
  );
  expect(found).toMatchObject({ more: 0, complete: true });
});

it('names files that are gone', () => {
  for (const name of NAMES) writeFileSync(join(root, 'work', name), name);
  scan('begin');
  for (const name of NAMES) rmSync(join(root, 'work', name));
  expect(
    scan('compare')
      ?.files.map(({ path, change }) => [path, change])
      .sort(),
  ).toEqual(NAMES.map((name) => [name, 'removed']).sort());
});
