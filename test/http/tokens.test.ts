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
import { checkTokenFiles } from '../../src/cli/doctor/check-files.js';
import { readSettings } from '../../src/config.js';
import { parseTokens } from '../../src/core/access-token.js';
import { bearerOf, keptToken, madeToken, TokenList } from '../../src/http/auth/tokens.js';

describe('the made token', () => {
  let directory = '';
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'holdfast-token-'));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  test('is made once, kept for its owner alone, and read again', async () => {
    const dataDir = join(directory, 'not', 'there', 'yet');
    const made = await madeToken(dataDir);
    expect(made).toEqual({
      token: expect.any(String),
      actor: 'admin',
      role: 'admin',
      tenant: 'default',
      installation: 'operator',
    });
    expect(Buffer.from(made.token, 'base64url')).toHaveLength(32);
    expect(statSync(join(dataDir, 'token')).mode & 0o777).toBe(0o600);
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    expect(await madeToken(dataDir)).toEqual(made);
    expect(readdirSync(dataDir)).toEqual(['.gitignore', 'token']);
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
    expect(readdirSync(directory)).toEqual(['.gitignore', 'token']);
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
  const bob = { actor: 'bob', role: 'viewer', tenant: 'default', installation: 'viewer' } as const;
  const list = [
    { token: 'token-of-ann-000001', ...ann },
    { token: 'token-of-bob-000001', ...bob },
  ];
  const tokens = new TokenList(list);
  const check = (presented: string) => tokens.check(presented);

  test('is the one that the token belongs to', () => {
    expect(check('token-of-ann-000001')).toMatchObject({ caller: ann });
    expect(check('token-of-bob-000001')).toMatchObject({ caller: bob });
  });

  test.each(['', 'token-of-ann-00000', 'token-of-ann-0000011', 'TOKEN-OF-ANN-000001', 'x'.repeat(100_000)])(
    'is no one for a token that is not exactly one of them',
    (presented) => expect(check(presented)).toBeNull(),
  );

  test('is no one when there are no tokens', () => expect(new TokenList([]).check('')).toBeNull());

  test('is told apart by the token', () => {
    const ids = list.map(({ token }) => check(token)?.tokenId);
    expect(new Set(ids).size).toBe(2);
    expect(ids.join()).not.toContain('token-of');
  });

  test('is no one any more for a token that is gone, or that is now of someone else', () => {
    const changing = new TokenList(list);
    const [ofAnn, ofBob] = list.map(({ token }) => changing.check(token));
    changing.replace([
      { token: 'token-of-cid-000001', ...bob },
      { token: 'token-of-bob-000001', ...bob },
    ]);
    expect(changing.check('token-of-ann-000001')).toBeNull();
    expect(changing.check('token-of-bob-000001')).toBe(ofBob);
    expect(changing.check('token-of-cid-000001')).toMatchObject({ caller: bob });
    expect([ofAnn?.revoked.aborted, ofBob?.revoked.aborted]).toEqual([true, false]);
    changing.replace([{ token: 'token-of-bob-000001', ...bob, role: 'admin' }]);
    expect(ofBob?.revoked.aborted).toBe(true);
    expect(changing.check('token-of-bob-000001')).toMatchObject({ caller: { role: 'admin' } });
  });
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

describe('The part of a token in the installation', () => {
  const entry = (actor: string, role: string, tenant: string, more: object = {}) => ({
    ...{ token: `token-of-${actor}-0001`, actor, role, tenant },
    ...more,
  });
  const partsOf = (entries: readonly object[]) => {
    const tokens = new TokenList(parseTokens('TOKENS', JSON.stringify(entries)));
    return entries.map((one) => tokens.check(String(Reflect.get(one, 'token')))?.caller.installation);
  };
  const OLD = [entry('ann', 'admin', 'default'), entry('vic', 'viewer', 'default'), entry('zoe', 'admin', 'acme')];

  test('is that of the tenant default where no token of the list says anything', () => {
    expect(partsOf(OLD)).toEqual(['operator', 'viewer', undefined]);
  });

  test('is what a token says, and nothing for the others, as soon as one says something', () => {
    const reader = entry('prometheus', 'viewer', 'operations', { installation: 'viewer' });
    expect(partsOf([...OLD, reader])).toEqual([undefined, undefined, undefined, 'viewer']);
    expect(() => partsOf([entry('ann', 'admin', 'default', { installation: 'admin' })])).toThrow('TOKENS is wrong');
  });

  test('is looked at by doctor where several tenants are in a list that says nothing', () => {
    const found = (tokens: readonly object[]) =>
      checkTokenFiles({ ...readSettings({ HOLDFAST_TOKENS: JSON.stringify(tokens) }), dataDir: '/nowhere' });
    expect(found(OLD)).toMatchObject({ status: 'warn', wayOut: expect.stringContaining('"installation"') });
    expect(found(OLD.slice(0, 2))).toMatchObject({ status: 'ok' });
    const stated = [...OLD, entry('olaf', 'viewer', 'operations', { installation: 'operator' })];
    expect(found(stated)).toMatchObject({ status: 'ok' });
  });
});
