import { describe, expect, it } from 'vitest';
import { HoldfastError } from '../../../src/core/errors/errors.js';
import { checkCapability } from '../../../src/core/grants/capability.js';
import { type GrantInput, grantsToJson, parseGrants } from '../../../src/core/grants/grants.js';
import { narrowGrants } from '../../../src/core/grants/grants-narrowing.js';

const failure = (action: () => unknown): HoldfastError => {
  try {
    action();
  } catch (error) {
    if (error instanceof HoldfastError) return error;
    throw error;
  }
  throw new Error('It did not fail.');
};

describe('grants that are refused when they are loaded', () => {
  it.each([
    ['an action that does not exist', 'fs:raed:/x', /"read", "write"/],
    ['an action that does not exist', 'network:https:get', /"http"/],
    ['an action that does not exist', 'tool:run:x', /"call"/],
    ['wrong case', 'FS:read:/x', /lower-case/],
    ['wrong case', 'fs:Read:/x', /lower-case/],
    ['wrong case of a method', 'network:http:GET', /lower case/],
    ['no scope', 'fs:read', /domain:action:scope/],
    ['empty scope', 'fs:read:', /empty/],
    ['empty domain', ':read:/x', /empty/],
    ['empty', '', /domain:action:scope/],
    ['everything', '*:*:*', /allowEverything/],
    ['a wildcard domain with a scope', '*:read:/x', /domain is "\*"/],
    ['a wildcard inside a domain', 'f*:read:/x', /lower-case/],
    ['a wildcard inside an action', 'fs:re*:/x', /lower-case/],
    ['a wildcard inside a name', 'fs:read:/work/*.txt', /stands alone/],
    ['a wildcard inside a name', 'fs:read:/work**', /stands alone/],
    ['three stars', 'fs:read:/work/***', /stands alone/],
    ['stacked wildcards', 'fs:read:/**/**', /same as/],
    ['a relative path', 'fs:read:work/**', /starts with "\/"/],
    ['a relative path', 'fs:read:**', /starts with "\/"/],
    ['home', 'fs:read:~/x', /starts with "\/"/],
    ['dots', 'fs:read:/work/../etc', /".."/],
    ['a dot', 'fs:read:/work/./x', /"."/],
    ['a slash at the end', 'fs:read:/work/', /end with/],
    ['a double slash', 'fs:read://work', /"\/\/"/],
    ['a backslash', 'fs:read:/work\\x', /backslash/],
    ['a process', 'fs:read:/proc/self/**', /process itself/],
    ['a descriptor', 'fs:read:/dev/fd/**', /process itself/],
    ['fullwidth dots', 'fs:read:/work/．．', /Unicode/],
    ['an invisible character', 'fs:read:/work/\u200b', /invisible/],
    ['a line break', 'fs:read:/work\n', /invisible/],
    ['an unknown method', 'network:http:trace', /method/],
    ['a URL without path', 'network:http:get https://api.example.com', /https:\/\/host\/path/],
    ['a URL with a query', 'network:http:get https://api.example.com/x?y=1', /query/],
    ['a URL with another scheme', 'network:http:get ftp://api.example.com/**', /https:\/\/host\/path/],
    ['a wildcard scheme', 'network:http:get *://api.example.com/**', /https:\/\/host\/path/],
    ['any host', 'network:http:get https://*/**', /leftmost label/],
    ['any depth of hosts', 'network:http:get https://**.example.com/**', /leftmost label/],
    ['a wildcard inside a label', 'network:http:get https://api-*.example.com/**', /leftmost label/],
    ['a wildcard in the middle', 'network:http:get https://api.*.com/**', /leftmost label/],
    ['a wildcard for a whole top level', 'network:http:get https://*.com/**', /two labels/],
    ['a wildcard for addresses', 'network:http:get http://*.0.0.1/**', /not a URL/],
    ['a wildcard port', 'network:http:get https://api.example.com:*/**', /leftmost label/],
    ['a host in capitals', 'network:http:get https://API.example.com/**', /canonical form: api\.example\.com/],
    ['a default port', 'network:http:get https://api.example.com:443/**', /canonical form: api\.example\.com/],
    ['a number as host', 'network:http:get http://2130706433/**', /canonical form: 127\.0\.0\.1/],
    ['user information', 'network:http:get https://user@api.example.com/**', /user name/],
    ['a trailing dot', 'network:http:get https://api.example.com./**', /dot/],
    ['dots in a URL', 'network:http:get https://api.example.com/v1/../**', /canonical form/],
    ['a slash at the end of a URL', 'network:http:get https://api.example.com/v1/', /does not end/],
    ['a wildcard inside a segment', 'network:http:get https://api.example.com/v*', /stands alone/],
    ['no program', 'proc:exec:"" x', /program/],
    ['any program', 'proc:exec:* status', /program/],
    ['a separator', 'proc:exec:git status; rm', /JSON string/],
    ['an environment variable', 'proc:exec:X=1 git', /environment/],
    ['a broken quotation', 'proc:exec:git "status', /JSON string/],
    ['a wildcard inside a tool', 'tool:call:pay*', /named with/],
    ['a server without tool', 'mcp:call:github', /<server>\/<tool>/],
    ['a wildcard server', 'mcp:call:*/x', /<server>\/<tool>/],
    ['a wildcard inside an id', 'payments:pay:eur*', /stands alone/],
    ['a misspelled domain with a pattern', 'fss:read:/work/**', /stands alone/],
  ])('%s: %s', (_kind, grant, message) => {
    for (const effect of ['allow', 'ask'] as const) {
      const error = failure(() => parseGrants(['fs:read:/ok', { capability: grant, effect }]));
      expect(error.code).toBe('capability_invalid');
      expect(error.message).toMatch(message);
      expect(error.fields).toHaveLength(1);
      expect(error.fields[0]?.pointer).toBe('/grants/1/capability');
    }
  });

  it('a grant of more than 8192 bytes', () => {
    expect(failure(() => parseGrants([`fs:read:/${'a'.repeat(8192)}`])).message).toMatch(/8192 bytes/);
  });

  it('names every wrong one', () => {
    const error = failure(() => parseGrants(['fs:raed:/x', 'fs:read:/ok', { capability: 'x', effect: 'deny' }]));
    expect(error.fields.map((field) => field.pointer)).toEqual(['/grants/0', '/grants/2/capability']);
    expect(error.message).toMatch(/and 1 more/);
  });

  it('refuses what is not a grant at all', () => {
    for (const input of [7, null, {}, { capability: 'fs:read:/x' }, { capability: 'fs:read:/x', effect: 'alow' }]) {
      expect(failure(() => parseGrants([input as unknown as GrantInput])).code).toBe('capability_invalid');
    }
    const extra = { capability: 'fs:read:/x', effect: 'allow', expires: 1 };
    expect(failure(() => parseGrants([extra as unknown as GrantInput])).message).toMatch(/expires/);
  });

  it('refuses more than 10,000', () => {
    expect(failure(() => parseGrants(Array.from({ length: 10_001 }, () => 'fs:read:/x'))).code).toBe(
      'capability_invalid',
    );
  });
});

describe('grants that load', () => {
  it.each([
    'fs:read:*',
    'network:http:get',
    'network:http:get https://api.example.com/v1/**',
    'fs:read:/data/**',
    'payments:pay:eur',
  ])("the specification's own example %s", (grant) => {
    expect(parseGrants([grant]).grants).toEqual([
      { capability: grant, effect: 'allow', use: true, delegate: false, layer: 0 },
    ]);
  });

  it('everything, with the switch; to deny everything takes none', () => {
    expect(parseGrants(['*:*:*'], { allowEverything: true }).grants).toHaveLength(1);
    const set = parseGrants(['fs:read:*', { capability: '*:*:*', effect: 'deny' }]);
    expect(checkCapability(set, 'fs:read:/x').effect).toBe('deny');
  });

  it('one action in every domain', () => {
    const set = parseGrants(['fs:*:*', { capability: '*:delete:*', effect: 'deny' }]);
    expect(checkCapability(set, 'fs:delete:/x').effect).toBe('deny');
    expect(checkCapability(set, 'fs:read:/x').effect).toBe('allow');
  });

  it('the policy version depends on what they say, not on their order', () => {
    const a: GrantInput = 'fs:read:/a';
    const b: GrantInput = { capability: 'fs:read:/b', effect: 'ask' };
    expect(parseGrants([a, b, a]).policyVersion).toBe(parseGrants([b, a]).policyVersion);
    expect(parseGrants([a]).policyVersion).not.toBe(parseGrants([b]).policyVersion);
    expect(parseGrants([a]).policyVersion).not.toBe(
      parseGrants([{ capability: 'fs:read:/a', effect: 'deny' }]).policyVersion,
    );
    expect(parseGrants(['fs:read:/data/**']).policyVersion).toBe(
      'sha256:0dccaa857c1a542106c30defb1485e1a697930bfec6e926e15a5da674307ed0b',
    );
  });
});

describe('a run narrows its agent', () => {
  const agent = parseGrants([
    'fs:read:/work/**',
    { capability: 'fs:read:/work/secret/**', effect: 'deny' },
    { capability: 'fs:write:/work/**', effect: 'ask' },
    { capability: 'payments:pay:eur', effect: 'allow', delegate: true },
  ]);
  const effects = (requested: readonly GrantInput[], requests: readonly string[]) => {
    const set = narrowGrants(agent, requested);
    return requests.map((request) => checkCapability(set, request).effect);
  };

  it('to a part of it; denials and questions of the agent stay', () => {
    expect(
      effects(
        ['fs:read:/work/**', 'fs:write:/work/a'],
        ['fs:read:/work/x', 'fs:read:/work/secret/x', 'fs:write:/work/a', 'fs:write:/work/b', 'payments:pay:eur'],
      ),
    ).toEqual(['allow', 'deny', 'ask', 'deny', 'deny']);
  });

  it('with questions and denials of its own', () => {
    const own: GrantInput[] = [
      { capability: 'fs:read:/work/*', effect: 'ask' },
      { capability: 'fs:read:/etc/**', effect: 'deny' },
    ];
    expect(effects(own, ['fs:read:/work/x', 'fs:read:/work/x/y', 'fs:read:/etc/x'])).toEqual(['ask', 'deny', 'deny']);
  });

  it('to nothing, and it stays nothing when stored', () => {
    const set = narrowGrants(agent, []);
    const stored = parseGrants(JSON.parse(JSON.stringify(grantsToJson(set))), { allowEverything: true });
    for (const one of [set, stored]) expect(checkCapability(one, 'fs:read:/work/x').effect).toBe('deny');
    expect(stored.policyVersion).toBe(set.policyVersion);
  });

  it('an agent without grants has no run with grants, not even after storing', () => {
    const set = narrowGrants(parseGrants([]), []);
    const stored = parseGrants(JSON.parse(JSON.stringify(grantsToJson(set))));
    expect(checkCapability(stored, 'fs:read:/x').effect).toBe('deny');
    expect(stored.layers).toHaveLength(2);
  });

  it.each<[string, GrantInput, string]>([
    ['another domain', 'network:http:get', 'no single grant'],
    ['another place', 'fs:read:/etc/x', 'no single grant'],
    ['a wider place', 'fs:read:/**', 'no single grant'],
    ['any place', 'fs:read:*', 'no single grant'],
    ['any action', 'fs:*:/work/**', 'no single grant'],
    ['everything', '*:*:*', 'no single grant'],
    ['a question about what it does not hold', { capability: 'fs:delete:/work/x', effect: 'ask' }, 'no single grant'],
    ['what the agent denies', 'fs:read:/work/secret/x', 'denies fs:read:/work/secret/**'],
    [
      'to pass on what it may not',
      { capability: 'fs:read:/work/a', effect: 'allow', delegate: true },
      'no single grant',
    ],
  ])('never to more: %s', (_kind, input, message) => {
    const error = failure(() => narrowGrants(agent, ['fs:read:/work/ok', input]));
    expect(error.code).toBe('grants_widened');
    expect(error.message).toContain(message);
    expect(error.fields[0]?.pointer).toBe('/grants/1');
  });

  it('may pass on what the agent may', () => {
    expect(
      narrowGrants(agent, [{ capability: 'payments:pay:eur', effect: 'allow', delegate: true }]).grants,
    ).toHaveLength(5);
  });

  it('twice', () => {
    const once = narrowGrants(agent, ['fs:read:/work/**']);
    const twice = narrowGrants(once, ['fs:read:/work/a/**']);
    expect(checkCapability(twice, 'fs:read:/work/a/x').effect).toBe('allow');
    expect(checkCapability(twice, 'fs:read:/work/b/x').effect).toBe('deny');
    expect(failure(() => narrowGrants(once, ['fs:write:/work/x'])).code).toBe('grants_widened');
  });

  it('cannot smuggle a grant into the layer of the agent', () => {
    const smuggled = { capability: 'fs:read:/work/x', effect: 'allow', layer: 0 } as unknown as GrantInput;
    const set = narrowGrants(agent, [smuggled]);
    expect(set.layers).toHaveLength(2);
    expect(checkCapability(set, 'fs:read:/work/y').effect).toBe('deny');
  });
});
