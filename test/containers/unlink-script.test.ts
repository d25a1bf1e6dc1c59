import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { UNLINK } from '../../src/containers/exec/unlink-script.js';

/** What removes links from a workspace that is judged, by the shell of this machine. */

const LEFT: Readonly<Record<string, string>> = {
  inside: 'own',
  'to a directory of such a name': 'proc/own',
  dangling: 'missing',
  'to a program': '/bin/sh',
  'to nothing': '/dev/null',
};
const REMOVED: Readonly<Record<string, string>> = {
  absolute: '/proc/self/cmdline',
  doubled: '//proc//self/./cmdline',
  'to a directory': '/proc',
  'to the tests': '/tmp/tests/check.sh',
  'to a stream': '/dev/stdin',
  'through a link': 'root/proc/self/fd/3',
  'beside a link': 'usr/../proc/self/cmdline',
  "with 'quotes' and\na line": '/proc/self/environ',
};

let work = '';
const far = Array.from({ length: 1200 }, () => 'n').join('/');
beforeAll(() => {
  work = mkdtempSync(join(tmpdir(), 'holdfast-links-'));
  mkdirSync(join(work, 'proc'));
  mkdirSync(join(work, far), { recursive: true });
  writeFileSync(join(work, 'own'), '');
  writeFileSync(join(work, 'proc/own'), '');
  const links = { ...LEFT, ...REMOVED, root: '/', usr: '/usr', [`${far}/far`]: '/proc/self/cmdline' };
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(work, name));
  execFileSync('sh', ['-c', `${UNLINK}\nunlink "$1"`, 'sh', work]);
});
afterAll(() => rmSync(work, { recursive: true }));

const isThere = (name: string): boolean => lstatSync(join(work, name), { throwIfNoEntry: false }) !== undefined;

it.each(Object.keys(LEFT))('leaves a link %s', (name) => expect(isThere(name)).toBe(true));

it.each([...Object.keys(REMOVED), `${far}/far`])('removes a link %s', (name) => expect(isThere(name)).toBe(false));
