import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { bearerOf, keptToken, madeToken, tokenCheck } from '../../src/http/tokens.js';

describe('the made token', () => {
  let directory = '';
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'holdfast-token-'));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  test('is made once, kept for its owner alone, and read again', async () => {
    const dataDir = join(directory, 'not', 'there', 'yet');
    const made = await madeToken(dataDir);
    expect(made).toEqual({ token: expect.any(String), actor: 'admin', role: 'admin', tenant: 'default' });
    expect(Buffer.from(made.token, 'base64url')).toHaveLength(32);
    expect(statSync(join(dataDir, 'token')).mode & 0o777).toBe(0o600);
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    expect(await madeToken(dataDir)).toEqual(made);
    expect(readdirSync(dataDir)).toEqual(['token']);
  });

  test('is looked for without making it', async () => {
    const dataDir = join(directory, 'not', 'there', 'yet');
    expect(await keptToken(dataDir)).toBeNull();
    expect(readdirSync(directory)).toEqual([]);
    expect(await keptToken(directory)).toBeNull();
    const made = await madeToken(directory);
    expect(await keptToken(directory)).toEqual(made);
  });

  test('two first starts at once agree on one', async () => {
    const tokens = await Promise.all(Array.from({ length: 8 }, () => madeToken(directory)));
    expect(new Set(tokens.map(({ token }) => token)).size).toBe(1);
    expect(readdirSync(directory)).toEqual(['token']);
  });

  test('gets its mode back', async () => {
    const { token } = await madeToken(directory);
    chmodSync(join(directory, 'token'), 0o644);
    expect((await madeToken(directory)).token).toBe(token);
    expect(statSync(join(directory, 'token')).mode & 0o777).toBe(0o600);
  });

  test.each([
    ['empty', ''],
    ['too short', 'abc'],
    ['of two words', 'one-token-of-two and-another-one'],
  ])('in a file that is %s is refused by the name of the file, and the file is left alone', async (_what, content) => {
    const file = join(directory, 'token');
    writeFileSync(file, content);
    for (const look of [keptToken, madeToken]) {
      await expect(look(directory)).rejects.toMatchObject({
        code: 'config_invalid',
        message: expect.stringContaining(file),
        hint: expect.stringContaining('Delete the file'),
      });
    }
    expect(readFileSync(file, 'utf8')).toBe(content);
  });

  test('that cannot be read is refused', async () => {
    mkdirSync(join(directory, 'token'));
    await expect(madeToken(directory)).rejects.toMatchObject({ code: 'config_invalid' });
  });

  test('in what is no directory, or leads nowhere, is refused by its name with the way out', async () => {
    const file = join(directory, 'file');
    writeFileSync(file, '');
    const link = join(directory, 'link');
    symlinkSync(join(directory, 'nowhere'), link);
    for (const place of [file, join(file, 'inside'), link, join(directory, 'x'.repeat(300))]) {
      await expect(madeToken(place)).rejects.toMatchObject({
        code: 'config_invalid',
        message: expect.stringContaining(place),
        hint: expect.stringContaining('HOLDFAST_DATA_DIR'),
      });
    }
    expect(readdirSync(directory).toSorted()).toEqual(['file', 'link']);
  });
});

describe('who asks', () => {
  const ann = { actor: 'ann', role: 'approver', tenant: 'acme' } as const;
  const bob = { actor: 'bob', role: 'viewer', tenant: 'default' } as const;
  const check = tokenCheck([
    { token: 'token-of-ann-000001', ...ann },
    { token: 'token-of-bob-000001', ...bob },
  ]);

  test('is whoever the token belongs to', () => {
    expect(check('token-of-ann-000001')).toEqual({ caller: ann, tokenIndex: 0 });
    expect(check('token-of-bob-000001')).toEqual({ caller: bob, tokenIndex: 1 });
  });

  test.each(['', 'token-of-ann-00000', 'token-of-ann-0000011', 'TOKEN-OF-ANN-000001', 'x'.repeat(100_000)])(
    'is nobody for a token that is not exactly one of them',
    (presented) => expect(check(presented)).toBeNull(),
  );

  test('is nobody when there are no tokens', () => expect(tokenCheck([])('')).toBeNull());
});

test.each([
  ['Bearer abc', 'abc'],
  ['bearer abc', 'abc'],
  ['BEARER   abc ', 'abc'],
  ['Bearer', null],
  ['Bearer ', null],
  ['Bearer a b', null],
  ['Bearerabc', null],
  ['Basic abc', null],
  ['abc', null],
  [undefined, null],
])('the header Authorization: %s', (header, token) => expect(bearerOf(header)).toBe(token));
