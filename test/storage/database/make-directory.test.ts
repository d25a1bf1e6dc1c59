import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { makeDirectory } from '../../../src/storage/database/data-dir/private-files.js';

const modeOf = (path: string): number => statSync(path).mode & 0o777;

describe('making a directory', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'holdfast-dir-'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  test('makes those above it too, for this user alone, and may be repeated', () => {
    const path = join(root, 'a', 'b', 'c');
    for (const form of [path, `${path}/`, relative('.', path)]) makeDirectory(form);
    expect([modeOf(path), modeOf(join(root, 'a'))]).toEqual([0o700, 0o700]);
  });

  test('leaves what is there as it is', () => {
    mkdirSync(join(root, 'open'), { mode: 0o755 });
    symlinkSync(join(root, 'open'), join(root, 'link'));
    makeDirectory(join(root, 'link', 'inside'));
    expect([modeOf(join(root, 'open')), modeOf(join(root, 'open', 'inside'))]).toEqual([0o755, 0o700]);
  });

  test('fails at once where none can be made', () => {
    writeFileSync(join(root, 'file'), '');
    symlinkSync(join(root, 'nowhere'), join(root, 'dangling'));
    expect(() => makeDirectory(join(root, 'file', 'inside'))).toThrow(expect.objectContaining({ code: 'ENOTDIR' }));
    expect(() => makeDirectory(join(root, 'dangling'))).toThrow(expect.objectContaining({ code: 'EEXIST' }));
    expect(() => makeDirectory('/proc/holdfast/inside')).toThrow(expect.objectContaining({ code: 'ENOENT' }));
  });
});
