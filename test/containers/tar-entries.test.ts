import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { tarEntries } from '../../src/containers/files/tar-entries.js';
import type { FoundEntry } from '../../src/core/containers/environment.js';

const dir = mkdtempSync(join(tmpdir(), 'holdfast-tar-'));
afterAll(() => rmSync(dir, { recursive: true }));

const LONG = `${'d'.repeat(120)}/${'e'.repeat(120)}/${'f'.repeat(90)}`;
const FILES: Readonly<Record<string, Buffer>> = {
  empty: Buffer.alloc(0),
  block: Buffer.alloc(512, 'b'),
  'big file.txt': Buffer.alloc(300_001, 'x'),
  'naïve-ü': Buffer.from('ü'),
  [LONG]: Buffer.from('deep'),
};
mkdirSync(join(dir, 'at', LONG, '..'), { recursive: true });
for (const [path, bytes] of Object.entries(FILES)) writeFileSync(join(dir, 'at', path), bytes);
symlinkSync(`/${LONG}`, join(dir, 'at', 'link'));
linkSync(join(dir, 'at', 'block'), join(dir, 'at', 'twin'));
execFileSync('mkfifo', [join(dir, 'at', 'pipe')]);

const packed = (format: string): Buffer =>
  execFileSync('tar', ['-C', dir, `--format=${format}`, '--sort=name', '-cf', '-', 'at'], { maxBuffer: 10_000_000 });

async function* inPiecesOf(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(bytes: Buffer, size: number, isRead: (path: string) => boolean = () => true) {
  const found = new Map<string, Omit<FoundEntry, 'path' | 'content'> & { bytes: Buffer }>();
  for await (const { path, content, ...entry } of tarEntries(inPiecesOf(bytes, size))) {
    const pieces: Buffer[] = [];
    if (isRead(path)) for await (const piece of content()) pieces.push(piece);
    found.set(path, { ...entry, bytes: Buffer.concat(pieces) });
  }
  return found;
}

it.each([
  ['pax', 7],
  ['pax', 65_536],
  ['gnu', 512],
  ['gnu', 10_000_000],
])('reads an archive in the form %s in pieces of %s bytes', async (format, size) => {
  const found = await read(packed(format), size);
  for (const [path, bytes] of Object.entries(FILES)) {
    const entry = found.get(`at/${path}`);
    // Of two names of one file the second one is a link to the first.
    expect(entry, path).toMatchObject({ size: bytes.length, isFile: true, link: null, sameAs: null });
    expect(entry?.bytes.equals(bytes), path).toBe(true);
  }
  expect(found.get('at/link')).toMatchObject({ isFile: false, link: `/${LONG}`, sameAs: null });
  expect(found.get('at/twin')).toMatchObject({ isFile: false, link: 'at/block', sameAs: 'at/block' });
  expect(found.get('at/pipe')).toMatchObject({ isFile: false, link: null });
  expect(found.size).toBe(Object.keys(FILES).length + 6);
});

it('passes over what is not read', async () => {
  const found = await read(packed('pax'), 1000, (path) => path === 'at/naïve-ü');
  expect(found.get('at/naïve-ü')?.bytes.toString('utf8')).toBe('ü');
  expect(found.get('at/big file.txt')?.bytes.length).toBe(0);
});

it.each<[string, (whole: Buffer) => Buffer]>([
  ['ends in the middle of a file', (whole) => whole.subarray(0, whole.indexOf('xxxx') + 1000)],
  ['ends in the middle of a header', (whole) => whole.subarray(0, 700)],
  ['is none', () => Buffer.alloc(1024, '9')],
])('throws for an archive that %s', async (_what, broken) => {
  await expect(read(broken(packed('gnu')), 4096)).rejects.toThrow(/archive/);
});

it('ends its source when no one reads on', async () => {
  let isEnded = false;
  async function* source() {
    try {
      yield* inPiecesOf(packed('gnu'), 512);
    } finally {
      isEnded = true;
    }
  }
  for await (const _ of tarEntries(source())) break;
  expect(isEnded).toBe(true);
});
