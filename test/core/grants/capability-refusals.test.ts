import { describe, expect, it } from 'vitest';
import { checkCapability } from '../../../src/core/grants/capability.js';
import { commandCapability } from '../../../src/core/grants/capability-text.js';
import { type GrantInput, parseGrants } from '../../../src/core/grants/grants.js';
import { narrowGrants } from '../../../src/core/grants/grants-narrowing.js';

const effectOf = (grants: readonly GrantInput[], requested: string) =>
  checkCapability(parseGrants(grants), requested).effect;

/** What must be refused although a grant is near. */
const REFUSES: readonly (readonly [string, string, string])[] = [
  ['traversal', 'fs:read:/work/**', 'fs:read:/work/../etc/passwd'],
  ['traversal', 'fs:read:/work/**', 'fs:read:/work/a/../../etc/passwd'],
  ['traversal that stays inside', 'fs:read:/work/**', 'fs:read:/work/a/../b'],
  ['traversal at the end', 'fs:read:/work/**', 'fs:read:/work/..'],
  ['relative', 'fs:read:/work/**', 'fs:read:../x'],
  ['relative', 'fs:read:/work/**', 'fs:read:work/x'],
  ['relative', 'fs:read:*', 'fs:read:x'],
  ['prefix of a name', 'fs:read:/work/**', 'fs:read:/work2/x'],
  ['prefix of a name', 'fs:read:/work/**', 'fs:read:/work-old/x'],
  ['prefix of a name', 'fs:read:/work/**', 'fs:read:/work.txt'],
  ['NUL', 'fs:read:/work/**', 'fs:read:/work/a\u0000.txt'],
  ['line break', 'fs:read:/work/**', 'fs:read:/work/a\nb'],
  ['control character', 'fs:read:/work/**', 'fs:read:/work/\u007f'],
  ['control character', 'fs:read:/work/**', 'fs:read:/work/\u0085'],
  ['backslash', 'fs:read:/work/**', 'fs:read:/work/..\\..\\etc'],
  ['encoded prefix', 'fs:read:/work/**', 'fs:read:%2Fwork/x'],
  ['home', 'fs:read:/work/**', 'fs:read:~/x'],
  ['home', 'fs:read:*', 'fs:read:~'],
  ['home', 'fs:read:*', 'fs:read:$HOME/x'],
  ['file URL', 'fs:read:*', 'fs:read:file:///work/x'],
  ['process', 'fs:read:*', 'fs:read:/proc/self/environ'],
  ['process', 'fs:read:*', 'fs:read:/proc/thread-self/root/etc/passwd'],
  ['process', 'fs:read:/**', 'fs:read:/proc/1/environ'],
  ['process', 'fs:read:/proc/*/environ', 'fs:read:/proc/4711/environ'],
  ['descriptor', 'fs:read:*', 'fs:read:/dev/fd/3'],
  ['descriptor', 'fs:write:*', 'fs:write:/dev/stdout'],
  ['dot', 'fs:read:*', 'fs:read:.'],
  ['dot', 'fs:read:/work/**', 'fs:read:/work/./a'],
  ['double slash', 'fs:read:/work/**', 'fs:read:/work//a'],
  ['double slash', 'fs:read:*', 'fs:read://etc/passwd'],
  ['slash at the end', 'fs:read:/work/**', 'fs:read:/work/a/'],
  ['fullwidth dots', 'fs:read:/work/**', 'fs:read:/work/．．/x'],
  ['two dot leader', 'fs:read:/work/**', 'fs:read:/work/‥/x'],
  ['fullwidth slash', 'fs:read:/work/**', 'fs:read:/work/a／b'],
  ['account of', 'fs:read:/work/**', 'fs:read:/work/℀'],
  ['fullwidth backslash', 'fs:read:/work/**', 'fs:read:/work/a＼b'],
  ['bidirectional override', 'fs:read:/work/**', 'fs:read:/work/\u202etxt.exe'],
  ['zero width', 'fs:read:/work/**', 'fs:read:/work/a\u200b'],
  ['lone surrogate', 'fs:read:/work/**', 'fs:read:/work/\ud800'],
  ['one segment', 'fs:read:/work/*', 'fs:read:/work/a/b'],
  ['one segment', 'fs:read:/work/*', 'fs:read:/work'],
  ['one segment', 'fs:read:/work/*/c', 'fs:read:/work/a/b/c'],
  ['wildcard in a request', 'fs:read:/work/a', 'fs:read:/work/*'],
  ['wildcard in a request', 'fs:read:/work/*', 'fs:read:/**'],
  ['case', 'fs:read:/work/**', 'fs:read:/Work/a'],
  ['other action', 'fs:read:/work/**', 'fs:write:/work/a'],
  ['other action', 'fs:read:/work/**', 'fs:delete:/work/a'],
  ['other action', 'fs:read:/work/**', 'fs:chmod:/work/a'],
  ['case of the domain', 'fs:read:/work/**', 'FS:read:/work/a'],
  ['case of the action', 'fs:read:/work/**', 'fs:Read:/work/a'],
  ['longer action', 'fs:read:/work/**', 'fs:readall:/work/a'],
  ['longer action', 'payments:pay:*', 'payments:payout:eur'],
  ['unknown action', 'fs:*:*', 'fs:raed:/work/a'],
  ['empty domain', 'fs:read:*', ':read:/x'],
  ['empty action', 'fs:read:*', 'fs::/x'],
  ['empty scope', 'fs:read:*', 'fs:read:'],
  ['missing scope', 'fs:read:*', 'fs:read'],
  ['nothing', 'fs:read:*', ''],
  ['wildcard action', 'fs:*:*', 'fs:*:/x'],
  ['wildcard domain', 'fs:*:*', '*:read:/x'],
  ['space in front', 'fs:read:*', ' fs:read:/x'],
  ['tab', 'fs:read:*', 'fs:\tread:/x'],
  ['homoglyph', 'fs:read:*', 'fѕ:read:/x'],
  ['zero width', 'fs:read:*', 'fs\u200b:read:/x'],
  ['soft hyphen', 'fs:read:*', 'fs:re\u00adad:/x'],
  ['argument', 'proc:exec:git status', 'proc:exec:git status --short'],
  ['fewer arguments', 'proc:exec:git status', 'proc:exec:git'],
  ['separator', 'proc:exec:git status', 'proc:exec:git status; rm -rf /'],
  ['separator as a token', 'proc:exec:git status', 'proc:exec:git status && rm'],
  ['substitution', 'proc:exec:git status', 'proc:exec:git $(id)'],
  ['backquote', 'proc:exec:git status', 'proc:exec:git `id`'],
  ['redirection', 'proc:exec:git status', 'proc:exec:git status > /etc/x'],
  ['line break', 'proc:exec:git status', 'proc:exec:git status\nrm'],
  ['line break in a token', 'proc:exec:git status', commandCapability(['git', 'status\nrm'])],
  ['option that runs a program', 'proc:exec:git log', 'proc:exec:git -c core.pager=x log'],
  ['option for an operand', 'proc:exec:git show *', 'proc:exec:git show --ext-diff'],
  ['two for one operand', 'proc:exec:git show *', 'proc:exec:git show a b'],
  ['wrapper', 'proc:exec:git status', 'proc:exec:env git status'],
  ['wrapper', 'proc:exec:git status', 'proc:exec:sh -c "git status"'],
  ['wrapper', 'proc:exec:git status', 'proc:exec:xargs git status'],
  ['one token for two', 'proc:exec:git status', 'proc:exec:"git status"'],
  ['program elsewhere', 'proc:exec:git status', 'proc:exec:./git status'],
  ['program elsewhere', 'proc:exec:git status', 'proc:exec:/tmp/git status'],
  ['environment', 'proc:exec:git status', 'proc:exec:GIT_PAGER=x git status'],
  ['environment', 'proc:exec:*', 'proc:exec:LD_PRELOAD=/tmp/x.so git status'],
  ['two spaces', 'proc:exec:git status', 'proc:exec:git  status'],
  ['other tool', 'tool:call:pay', 'tool:call:pay2'],
  ['other tool', 'tool:call:pay', 'tool:call:Pay'],
  ['wildcard tool', 'tool:call:pay', 'tool:call:*'],
  ['other server', 'mcp:call:github/*', 'mcp:call:github2/x'],
  ['no tool', 'mcp:call:github/*', 'mcp:call:github'],
  ['deeper tool', 'mcp:call:github/*', 'mcp:call:github/a/b'],
  ['other id', 'payments:pay:eur', 'payments:pay:eur2'],
  ['part of an id', 'payments:pay:eur', 'payments:pay:eur:2026'],
];

const API = 'network:http:get https://api.example.com/v1/**';
const URLS_REFUSED: readonly (readonly [string, string])[] = [
  ['method', 'network:http:post https://api.example.com/v1/x'],
  ['case of the method', 'network:http:GET https://api.example.com/v1/x'],
  ['unknown method', 'network:http:connect https://api.example.com/v1/x'],
  ['no URL', 'network:http:get'],
  ['scheme', 'network:http:get http://api.example.com/v1/x'],
  ['other scheme', 'network:http:get ftp://api.example.com/v1/x'],
  ['port', 'network:http:get https://api.example.com:8443/v1/x'],
  ['user information', 'network:http:get https://user@api.example.com/v1/x'],
  ['password', 'network:http:get https://user:secret@api.example.com/v1/x'],
  ['host as user information', 'network:http:get https://api.example.com@evil.example/v1/x'],
  ['longer host', 'network:http:get https://api.example.com.evil.example/v1/x'],
  ['host in front', 'network:http:get https://evil-api.example.com/v1/x'],
  ['parent host', 'network:http:get https://example.com/v1/x'],
  ['host in the query', 'network:http:get https://evil.example/?https://api.example.com/v1/x'],
  ['host in the fragment', 'network:http:get https://evil.example/#https://api.example.com/v1/x'],
  ['host in the path', 'network:http:get https://evil.example/api.example.com/v1/x'],
  ['backslash before a host', 'network:http:get https://evil.example\\@api.example.com/v1/x'],
  ['homoglyph', 'network:http:get https://аpi.example.com/v1/x'],
  ['trailing dot', 'network:http:get https://api.example.com./v1/x'],
  ['traversal', 'network:http:get https://api.example.com/v1/../admin'],
  ['encoded traversal', 'network:http:get https://api.example.com/v1/%2e%2e/admin'],
  ['encoded slash', 'network:http:get https://api.example.com/v1/..%2fadmin'],
  ['encoded backslash', 'network:http:get https://api.example.com/v1/..%5cadmin'],
  ['encoded twice', 'network:http:get https://api.example.com/v1/%252e%252e%252fadmin'],
  ['encoded very often', 'network:http:get https://api.example.com/v1/%25252525252e%25252525252e'],
  ['path parameter', 'network:http:get https://api.example.com/v1/..;/admin'],
  ['double slash', 'network:http:get https://api.example.com/v1//x'],
  ['encoded slash in a name', 'network:http:get https://api.example.com/v1/group%2Fname'],
  ['slash encoded twice', 'network:http:get https://api.example.com/v1/group%252Fname'],
  ['parameter of a name', 'network:http:get https://api.example.com/v1/group;x=1'],
  ['encoded parameter', 'network:http:get https://api.example.com/v1/group%3Bx=1'],
  ['encoded NUL', 'network:http:get https://api.example.com/v1/x%00'],
  ['encoded line break', 'network:http:get https://api.example.com/v1/x%0d%0aHost:evil'],
  ['not UTF-8', 'network:http:get https://api.example.com/v1/%ff'],
  ['prefix of a name', 'network:http:get https://api.example.com/v1x'],
  ['space', 'network:http:get https://api.example.com/v1/x y'],
  ['two spaces', 'network:http:get  https://api.example.com/v1/x'],
  ['not a URL', 'network:http:get api.example.com/v1/x'],
  ['wildcard host', 'network:http:get https://*/v1/x'],
];

describe('a request that no grant covers', () => {
  it.each(REFUSES)('%s: %s does not cover %j', (_kind, grant, request) => {
    expect(effectOf([grant], request)).toBe('deny');
  });

  it.each(URLS_REFUSED)('%s: %s', (_kind, request) => {
    expect(effectOf([API], request)).toBe('deny');
  });

  it.each([
    'network:http:get https://a.b.example.com/',
    'network:http:get https://example.com/',
    'network:http:get https://apiexample.com/',
    'network:http:get https://api.example.com:444/',
  ])('a wildcard host is one label: %s', (request) => {
    expect(effectOf(['network:http:get https://*.example.com/**'], request)).toBe('deny');
  });
});

describe('a denied place stays denied however it is spelled', () => {
  const grants: GrantInput[] = [
    'network:http:get',
    { capability: 'network:http:get https://h.example/it/**', effect: 'deny' },
  ];
  it.each([
    'https://h.example/it',
    'https://h.example/it/',
    'https://h.example/it/x',
    'https://h.example/%69t/x',
    'https://H.EXAMPLE/it/x',
    'https://h.example:443/it/x',
    'https://h.example./it/x',
    'https://h.example/a/../it/x',
    'https://h.example//it/x',
    'https://h.example/%2569t/..%2f/x',
    'https://h.example/it%2Fx',
    'https://h.example/it;x=1',
    'https://h.example/it;x=1/x',
    'https://h.example/IT/x',
    'https://h.example/%49%54/x',
    'https://h.example/%2569t/x',
    'https://h.example/it./x',
    'https://h.example/it%20/x',
    'https://h.example/it%3Fx',
    'https://h.example/it%23',
    'https://h.example/ｉｔ／x',
    'https://h.example/it\\x',
    'https://h.example/%20it/x',
    'https://h.example/+it/x',
    'https://h.example/it+/x',
    'https://h.example/%EF%BC%8Fit/x',
    'https://h.example/a/%EF%BC%8E%EF%BC%8E/it',
    'https://h.example/a/%E2%80%A5/it',
    'https://h.example/i%C2%ADt/x',
    'https://h.example/i%E2%80%8Bt/x',
    'https://h.example/%EF%BB%BFit/x',
    'https://h.example/%C4%B1t/x',
    'https://h.example/%C4%B0t/x',
    'https://h.example/i%CC%81t/x',
    'https://h.example/it.json',
    'https://h.example/it::$DATA',
    'https://h.example/it%20.json',
    'https://h.example/it..json',
    'https://h.example/it%E1%9A%80',
    'https://h.example/%20/it/x',
    'https://h.example/%C2%AD/it',
    'https://h.example/%23/it/x.json',
    'https://h.example/it%E2%88%95x',
    'https://h.example/it%E2%81%84x',
    'https://h.example/it%E2%88%96x',
    'http://h.example/it/x',
    'http://h.example:443/it/x',
    'https://h.example:80/it/x',
  ])('%s', (url) => {
    expect(effectOf(grants, `network:http:get ${url}`)).toBe('deny');
    const asking: GrantInput[] = [
      'network:http:get',
      { capability: 'network:http:get https://h.example/it/**', effect: 'ask' },
    ];
    expect(effectOf(asking, `network:http:get ${url}`)).not.toBe('allow');
  });

  it('and a place by itself, or one with any name in it, in each of the readings of a server', () => {
    const one = (path: string, request: string) =>
      effectOf(
        ['network:http:get', { capability: `network:http:get https://h.example${path}`, effect: 'deny' }],
        `network:http:get https://h.example${request}`,
      );
    for (const request of [
      '/it',
      '/it/',
      '/it/%20',
      '/it/%C2%AD/',
      '/it%3F/x',
      '/it%23/x/y',
      '/it.json%3Fa/b',
      '/it/%3Fx',
    ])
      expect(one('/it', request), request).toBe('deny');
    for (const request of ['/a/it', '/%20/it', '/a%3Fb/it', '/a%3F/it.json', '/%C2%AD/it'])
      expect(one('/*/it', request), request).toBe('deny');
    for (const request of ['/%20', '/+', '/%3Fx', '/%23/it']) expect(one('/', request), request).toBe('deny');
    for (const request of ['/it/x', '/x/it', '/its%3F/x', '/x%3F/it'])
      expect(one('/it', request), request).toBe('allow');
  });

  it('and a grant that asks allows nothing that is only alike', () => {
    const asking: GrantInput[] = [{ capability: 'network:http:get https://h.example/it/**', effect: 'ask' }];
    expect(effectOf(asking, 'network:http:get https://h.example/it/x')).toBe('ask');
    expect(effectOf(asking, 'network:http:get https://h.example/IT/x')).toBe('deny');
    expect(effectOf([...asking, 'network:http:get'], 'network:http:get https://h.example/IT/x')).toBe('ask');
    const notUsed: GrantInput[] = [
      { ...{ capability: 'network:http:get https://h.example/it/**', effect: 'ask' }, use: false },
    ];
    expect(effectOf([...notUsed, 'network:http:get'], 'network:http:get https://h.example/IT/x')).toBe('allow');
  });

  it('and its neighbours, and what another case is granted, stay as they were', () => {
    for (const url of [
      'https://h.example/its',
      'https://h.example/a/it',
      'https://h.example/',
      'https://h2.example/it',
      'https://h.example:8443/it',
      'https://h.example/a.it',
      'https://h.example/its.json',
    ])
      expect(effectOf(grants, `network:http:get ${url}`), url).toBe('allow');
    const exact = 'network:http:get https://h.example/It/**';
    expect(effectOf([exact], 'network:http:get https://h.example/it/x')).toBe('deny');
    expect(effectOf([exact], 'network:http:get https://h.example/%49t/x')).toBe('allow');
  });

  it('and a run cannot be granted it in another case', () => {
    const agent = parseGrants(grants);
    expect(() => narrowGrants(agent, ['network:http:get https://h.example/IT/x'])).toThrow('the agent denies');
  });
});
