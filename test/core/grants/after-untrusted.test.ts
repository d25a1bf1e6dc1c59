import { describe, expect, it } from 'vitest';
import { checkCapability } from '../../../src/core/grants/capability.js';
import { type GrantInput, parseGrants } from '../../../src/core/grants/grants.js';
import { delegateGrants } from '../../../src/core/grants/grants-narrowing.js';

/** What grants say of unsafe calls after the run has read what came from outside. */

const HOST = 'network:http:* https://api.example.com';
const LABELS = ['untrusted:web'];
const asked = (path: string): string => `network:http:post https://api.example.com${path}`;
const checked = (grants: readonly GrantInput[], request: string, labels: readonly string[] = LABELS) =>
  checkCapability(parseGrants(grants), request, labels);

describe('A grant that restricts after untrusted input', () => {
  const alike = ['/ADMIN', '/admin.', '/%2561dmin', '/admin.json', '/%20/admin', '/\u00e1dmin', '/admin%3Fx'];

  for (const effect of ['ask', 'deny'] as const) {
    const grants: readonly GrantInput[] = [
      `${HOST}/**`,
      { capability: `${HOST}/admin`, effect: 'allow', afterUntrusted: effect },
    ];

    it.each(['/admin', ...alike])(`says "${effect}" of %s, which a lenient server reads as what it names`, (path) => {
      expect(checked(grants, asked(path))).toMatchObject({ effect, rule: `${HOST}/admin` });
      expect(checked(grants, asked(path), [])).toMatchObject({ effect: 'allow' });
    });
  }

  it('denies what only looks alike where the exact grant asks', () => {
    const grants: readonly GrantInput[] = [
      { capability: `${HOST}/**`, effect: 'ask' },
      { capability: `${HOST}/admin`, effect: 'ask', afterUntrusted: 'deny' },
    ];
    expect(checked(grants, asked('/Admin')).effect).toBe('deny');
    expect(checked(grants, asked('/Admin'), []).effect).toBe('ask');
    expect(checked(grants, asked('/other'))).toMatchObject({ effect: 'ask', rule: `${HOST}/**` });
  });

  it('allows nothing that it does not name exactly', () => {
    const grants: readonly GrantInput[] = [{ capability: `${HOST}/admin`, effect: 'allow', afterUntrusted: 'ask' }];
    expect(checked(grants, asked('/Admin'))).toMatchObject({ effect: 'deny', rule: null });
  });

  it('is not passed on by a wider grant beside it', () => {
    const everything = parseGrants(['tool:call:*']);
    const parent: readonly GrantInput[] = [
      { capability: 'tool:call:*', effect: 'allow', delegate: true },
      { capability: 'tool:call:pay', effect: 'allow', afterUntrusted: 'ask' },
    ];
    expect(checked(parent, 'tool:call:pay').effect).toBe('ask');
    const { grants } = delegateGrants(parseGrants(parent), everything);
    expect(checkCapability(grants, 'tool:call:pay', LABELS).effect).toBe('deny');
    expect(checkCapability(grants, 'tool:call:look', LABELS).effect).toBe('allow');
    expect(delegateGrants(parseGrants(parent), everything, ['tool:call:pay']).missing).toEqual(['tool:call:pay']);
  });

  it('stays with the child where it may be passed on', () => {
    const parent = parseGrants([
      { capability: 'tool:call:*', effect: 'allow', delegate: true },
      { capability: 'tool:call:pay', effect: 'allow', afterUntrusted: 'ask', delegate: true },
    ]);
    const { grants } = delegateGrants(parent, parseGrants(['tool:call:*']));
    expect(checkCapability(grants, 'tool:call:pay', LABELS).effect).toBe('ask');
    expect(checkCapability(grants, 'tool:call:pay').effect).toBe('allow');
  });
});

describe('A grant that denies an address', () => {
  const grants: readonly GrantInput[] = [`${HOST}/**`, { capability: `${HOST}/admin/users`, effect: 'deny' }];

  it.each(['\u2044', '\u2215', '\u2216', '\u2571', '\u2572', '\u27cb', '\u29f9', '\u00a5', '\u20a9', '\u3033'])(
    'denies it with %s for a separator',
    (sign) => {
      expect(checked(grants, asked(`/admin${sign}users`)).effect).toBe('deny');
    },
  );

  it.each(['a\u0301', '\u00e1', 'a\u20dd', 'a\u1ab0', 'a\ufe20'])('denies it with the accented letter %s', (letter) => {
    expect(checked(grants, asked(`/${letter}dmin/users`)).effect).toBe('deny');
  });
});
