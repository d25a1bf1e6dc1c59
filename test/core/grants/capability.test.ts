import { describe, expect, it } from 'vitest';
import { checkCapability } from '../../../src/core/grants/capability.js';
import { commandCapability } from '../../../src/core/grants/capability-text.js';
import { type GrantInput, parseGrants } from '../../../src/core/grants/grants.js';

const effectOf = (grants: readonly GrantInput[], requested: string) =>
  checkCapability(parseGrants(grants), requested).effect;

/** grant, request that it covers, request that it does not cover */
const COVERS: readonly (readonly [string, string])[] = [
  ['fs:read:*', 'fs:read:/any/file'],
  ['fs:read:*', 'fs:read:/'],
  ['fs:*:*', 'fs:delete:/any/file'],
  ['fs:*:/work/**', 'fs:write:/work/a'],
  ['fs:read:/work/**', 'fs:read:/work'],
  ['fs:read:/work/**', 'fs:read:/work/a'],
  ['fs:read:/work/**', 'fs:read:/work/a/b/c.txt'],
  ['fs:read:/work/*', 'fs:read:/work/a'],
  ['fs:read:/work/*/c', 'fs:read:/work/b/c'],
  ['fs:read:/work/**/c', 'fs:read:/work/c'],
  ['fs:read:/work/**/c', 'fs:read:/work/a/b/c'],
  ['fs:read:/work/**/c/**', 'fs:read:/work/a/c/b/c/d'],
  ['fs:read:/', 'fs:read:/'],
  ['fs:read:/a:b/c', 'fs:read:/a:b/c'],
  ['fs:read:/work/**', 'fs:read:/work/~'],
  ['fs:read:/work/**', 'fs:read:/work/$HOME'],
  ['fs:read:/work/**', 'fs:read:/work/%2e%2e'],
  ['fs:read:/work/**', 'fs:read:/work/*'],
  ['fs:read:/work/**', 'fs:read:/work/[a]?{b}'],
  ['fs:read:/work/**', 'fs:read:/work/with space'],
  ['fs:read:/work/**', 'fs:read:/work/日本語.txt'],
  ['network:http:get', 'network:http:get https://anything.example/'],
  ['network:http:*', 'network:http:delete http://anything.example:81/x?y=1'],
  ['network:*:*', 'network:http:get https://anything.example/'],
  ['network:http:* https://api.example.com/**', 'network:http:post https://api.example.com/v1'],
  ['network:http:get https://api.example.com/v1/**', 'network:http:get https://api.example.com/v1/x'],
  ['network:http:get https://api.example.com/v1/**', 'network:http:get https://api.example.com/v1'],
  ['network:http:get https://api.example.com/v1/**', 'network:http:get https://api.example.com/v1/'],
  ['network:http:get https://api.example.com/v1/**', 'network:http:get https://API.example.com:443/v1/x?q=1#f'],
  ['network:http:get https://api.example.com/v1/**', 'network:http:get https://ａｐｉ.example.com/v1/x'],
  ['network:http:get https://api.example.com/v1/**', 'network:http:get https://api.ex%61mple.com/v1/x'],
  ['network:http:get https://api.example.com/v1/**', 'network:http:get https://api.example.com/admin/../v1/x'],
  ['network:http:get https://api.example.com/v1/**', 'network:http:get https://api.example.com/v1/gr%6Fup%20name'],
  ['network:http:get https://api.example.com/v1/*/x', 'network:http:get https://api.example.com/v1/*/x'],
  ['network:http:get https://api.example.com/', 'network:http:get https://api.example.com'],
  ['network:http:get https://*.example.com/**', 'network:http:get https://api.example.com/x'],
  ['network:http:get http://[::1]:8080/**', 'network:http:get http://[0:0::1]:8080/x'],
  ['network:http:get http://127.0.0.1/**', 'network:http:get http://0x7f.1/x'],
  ['network:http:get https://xn--bcher-kva.example/**', 'network:http:get https://bücher.example/x'],
  ['proc:exec:git status', 'proc:exec:git status'],
  ['proc:exec:git status', 'proc:exec:"git" status'],
  ['proc:exec:*', 'proc:exec:rm -rf "/"'],
  ['proc:exec:git show *', 'proc:exec:git show HEAD'],
  ['proc:exec:git commit -m *', commandCapability(['git', 'commit', '-m', 'two words\nand "more"'])],
  ['proc:exec:echo "*"', commandCapability(['echo', '*'])],
  ['tool:call:pay', 'tool:call:pay'],
  ['tool:call:*', 'tool:call:pay'],
  ['mcp:call:github/*', 'mcp:call:github/create_issue'],
  ['mcp:call:github/create_issue', 'mcp:call:github/create_issue'],
  ['mcp:call:*', 'mcp:call:github/create_issue'],
  ['payments:pay:*', 'payments:pay:eur'],
  ['payments:pay:*', 'payments:pay:*'],
  ['payments:pay:eur', 'payments:pay:eur'],
  ['payments:pay:eur:2026', 'payments:pay:eur:2026'],
  ['payments:*:eur', 'payments:pay:eur'],
  ['constructor:read:x', 'constructor:read:x'],
];

describe('a request that a grant covers', () => {
  it.each(COVERS)('%s covers %s', (grant, request) => {
    expect(effectOf([grant], request)).toBe('allow');
    expect(effectOf([{ capability: grant, effect: 'ask' }], request)).toBe('ask');
  });
});

describe('what a check answers', () => {
  it('names the rule and the canonical request', () => {
    const set = parseGrants(['network:http:get https://api.example.com/v1/**']);
    expect(checkCapability(set, 'network:http:get https://API.example.com:443/v1/a/../x?q=1#part')).toEqual({
      capability: 'network:http:get https://api.example.com/v1/x?q=1',
      effect: 'allow',
      rule: 'network:http:get https://api.example.com/v1/**',
      reason: 'a grant allows it',
    });
  });

  it('writes a command in one form', () => {
    expect(checkCapability(parseGrants(['proc:exec:*']), 'proc:exec:"git" "status"').capability).toBe(
      'proc:exec:git status',
    );
    expect(commandCapability(['a b', '', 'c"d', 'e\u202ef', '\u{e0001}'])).toBe(
      'proc:exec:"a b" "" "c\\"d" "e\\u202ef" "\\udb40\\udc01"',
    );
  });

  it('lets deny beat ask and ask beat allow, in any order', () => {
    const allow: GrantInput = 'fs:read:/work/**';
    const ask: GrantInput = { capability: 'fs:read:/work/a/**', effect: 'ask' };
    const deny: GrantInput = { capability: 'fs:read:/work/a/b', effect: 'deny' };
    for (const grants of [
      [allow, ask, deny],
      [deny, ask, allow],
      [ask, deny, allow],
    ]) {
      expect(effectOf(grants, 'fs:read:/work/x')).toBe('allow');
      expect(effectOf(grants, 'fs:read:/work/a/x')).toBe('ask');
      expect(effectOf(grants, 'fs:read:/work/a/b')).toBe('deny');
    }
  });

  it('lets a deny of everything win over the same allow', () => {
    for (const capability of ['fs:read:*', 'network:http:get', 'tool:call:x', 'payments:pay:eur']) {
      const request = { 'fs:read:*': 'fs:read:/x', 'network:http:get': 'network:http:get https://x.example/' }[
        capability
      ];
      expect(effectOf([capability, { capability, effect: 'deny' }], request ?? capability)).toBe('deny');
    }
  });

  it('allows nothing by default', () => {
    expect(checkCapability(parseGrants([]), 'fs:read:/x')).toMatchObject({ effect: 'deny', rule: null });
  });

  it('does not let a grant be used that may only be passed on', () => {
    const capability = 'fs:read:/work/**';
    expect(effectOf([{ capability, effect: 'allow', use: false, delegate: true }], 'fs:read:/work/a')).toBe('deny');
    expect(effectOf([capability, { capability, effect: 'deny', use: false }], 'fs:read:/work/a')).toBe('deny');
  });

  it('denies, and never throws, what is not even a text', () => {
    const set = parseGrants(['*:*:*'], { allowEverything: true });
    for (const requested of [undefined, null, 7, {}, [], Symbol('x')]) {
      expect(checkCapability(set, requested as unknown as string).effect).toBe('deny');
    }
    expect(checkCapability(set, 'fs:read:/x').effect).toBe('allow');
  });

  it('denies when the checker itself fails', () => {
    const set = parseGrants(['fs:read:*']);
    const broken = { ...set, layers: undefined };
    expect(checkCapability(broken as unknown as typeof set, 'fs:read:/x')).toEqual({
      capability: 'fs:read:/x',
      effect: 'deny',
      rule: null,
      reason: 'the checker itself failed',
    });
  });

  it('denies what has more than 8192 bytes', () => {
    expect(effectOf(['fs:read:*'], `fs:read:/${'a'.repeat(8192)}`)).toBe('deny');
    expect(effectOf(['fs:read:*'], `fs:read:/${'語'.repeat(3000)}`)).toBe('deny');
    expect(effectOf(['fs:read:*'], `fs:read:/${'a'.repeat(4000)}`)).toBe('allow');
  });

  it('keeps a readable part of what it could not read', () => {
    const check = checkCapability(parseGrants([]), `fs:read:/${'😀'.repeat(4000)}`);
    expect(check.capability.isWellFormed()).toBe(true);
    expect(check.capability.length).toBeLessThanOrEqual(1000);
  });
});
