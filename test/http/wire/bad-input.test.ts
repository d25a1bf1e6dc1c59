import { request } from 'node:http';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROUTES } from '../../../src/http/routes.js';
import { describeEachDatabase } from '../../harness/database.js';
import { type Answer, bearer, type Door, expectProblem, MAX_BODY_BYTES, openDoor, statsOf, TOKENS } from '../door.js';

describeEachDatabase('bad input', (kind) => {
  let door: Door;
  let before: unknown;
  beforeAll(async () => {
    door = await openDoor(kind);
    before = await stats();
  });
  afterAll(async () => {
    try {
      expect(await stats(), 'a refused request changed something').toEqual(before);
      expect(door.logged.filter(({ level }) => level === 'error')).toEqual([]);
    } finally {
      await door.close();
    }
  });
  const stats = (): Promise<unknown> => statsOf(door);

  const RUNS = '/api/v1/runs';
  const good = { agent: 'echo', input: 'go' };
  const post = (body: unknown, headers?: Record<string, string>): Promise<Answer> =>
    door.ask('otto', 'POST', RUNS, body, headers);
  const get = (path: string): Promise<Answer> => door.ask('vera', 'GET', path);

  describe('without a valid token', () => {
    const { token } = TOKENS.adam;
    test.each<[string, Record<string, string>]>([
      ['nothing', {}],
      ['another token', { Authorization: 'Bearer not-a-token-of-this-server' }],
      ['half a token', { Authorization: `Bearer ${token.slice(0, -1)}` }],
      ['a token with more behind it', { Authorization: `Bearer ${token}x` }],
      ['another scheme', { Authorization: `Basic ${token}` }],
      ['no scheme', { Authorization: token }],
      ['two tokens', { Authorization: `Bearer ${token} ${token}` }],
      ['another header', { 'X-Token': token }],
    ])('%s is 401, whatever is asked', async (_what, headers) => {
      for (const [method, path] of [
        ['GET', RUNS],
        ['POST', RUNS],
        ['GET', '/api/v1/openapi.json'],
        ['GET', `${RUNS}?token=${token}`],
        ['DELETE', RUNS],
        ['GET', '/nowhere'],
      ] as const) {
        const answer = await door.ask(null, method, path, method === 'POST' ? 'not even JSON' : undefined, headers);
        expectProblem(answer, 'unauthenticated');
        expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="holdfast"');
        expect(answer.text).not.toContain(token);
      }
    });
  });

  describe('an address that is not there', () => {
    test.each([
      '/api',
      '/api/v1',
      '/inbox/x/y',
      '/assets/x.js',
      '/api/v2/runs',
      '/api/v1/runs/',
      '/API/v1/runs',
      '/api/v1/runs/x/y',
      '/livez/',
    ])('%s is 404', async (path) => void expectProblem(await get(path), 'not_found'));

    test.each([
      ['PUT', RUNS, 'POST, GET, HEAD'],
      ['PUT', `${RUNS}/x`, 'GET, HEAD, DELETE'],
      ['GET', `${RUNS}/x/cancel`, 'POST'],
      ['OPTIONS', RUNS, 'POST, GET, HEAD'],
      ['PATCH', '/livez', 'GET, HEAD'],
    ])('%s %s is 405 and says what is allowed', async (method, path, allowed) => {
      const answer = await door.ask('adam', method, path);
      expectProblem(answer, 'method_not_allowed');
      expect(answer.headers.get('allow')).toBe(allowed);
      expect(answer.headers.has('access-control-allow-origin')).toBe(false);
    });

    test.each([
      ['run_unknown', 'GET', '/api/v1/runs/run_x'],
      ['run_unknown', 'GET', '/api/v1/runs/run_x?wait=5'],
      ['run_unknown', 'GET', '/api/v1/runs/run_x/events'],
      ['run_unknown', 'GET', '/api/v1/runs/run_x/trajectory'],
      ['run_unknown', 'GET', '/api/v1/trajectories/run_x'],
      ['run_unknown', 'GET', '/api/v1/runs/run_x/rewards'],
      ['run_unknown', 'POST', '/api/v1/runs/run_x/cancel'],
      ['run_unknown', 'POST', '/api/v1/runs/run_x/verify'],
      ['interruption_unknown', 'GET', '/api/v1/interruptions/int_x'],
      ['interruption_unknown', 'POST', '/api/v1/interruptions/int_x/approve'],
      ['interruption_unknown', 'POST', '/api/v1/interruptions/int_x/reject'],
    ])('%s: %s %s', async (code, method, path) => void expectProblem(await door.ask('adam', method, path), code));

    test('interruption_unknown: an answer to nothing', async () => {
      expectProblem(
        await door.ask('anna', 'POST', '/api/v1/interruptions/x/answer', { value: 1 }),
        'interruption_unknown',
      );
    });

    test.each(['%00', 'a%00b', '%0A', '%20', 'x'.repeat(201), 'r%C3%BCn', '%E2%82%AC', "'%20or%201=1--"])(
      'an id that is none is invalid (%#)',
      async (id) => {
        for (const path of [`${RUNS}/${id}`, `${RUNS}/${id}/events`, `/api/v1/interruptions/${id}`]) {
          expect(expectProblem(await get(path), 'invalid_request').errors[0]?.pointer).toBe('/path/id');
        }
      },
    );

    describe('NUL and half a character', () => {
      const parameters = ROUTES.filter(({ access, method }) => access !== 'open' && method === 'GET').flatMap((route) =>
        Object.keys(route.query.shape).map(
          (name) => [route.path.replace('{version}', '1.0.0').replaceAll(/\{\w+\}/g, 'x'), name] as const,
        ),
      );
      test.each(parameters)('in the query of %s: %s', async (path, name) => {
        for (const value of ['%00', 'a%00b']) {
          const answer = await door.ask('adam', 'GET', `${path}?${name}=${value}`);
          expect(expectProblem(answer, 'invalid_request').errors[0]?.pointer).toBe(`/query/${name}`);
        }
      });

      test('in the name of a query', async () => {
        expectProblem(await get(`${RUNS}?a%00=1`), 'invalid_request');
      });
    });

    test('names without end that are not known are told in bounds', async () => {
      const body = Object.fromEntries(Array.from({ length: 7000 }, (_, n) => [`u${n}`, n]));
      const answer = await post({ ...good, ...body });
      expectProblem(answer, 'invalid_request');
      expect(answer.text.length).toBeLessThan(MAX_BODY_BYTES / 5);
    });

    test.each(['%', '%zz', '%ff'])('a path with %s is invalid', async (id) => {
      expectProblem(await get(`${RUNS}/${id}`), 'invalid_request');
    });
  });

  describe('a bad parameter is named', () => {
    test.each([
      [`${RUNS}?limit=0`, '/query/limit'],
      [`${RUNS}?limit=201`, '/query/limit'],
      [`${RUNS}?limit=ten`, '/query/limit'],
      [`${RUNS}?limit=1&limit=2`, '/query/limit'],
      [`${RUNS}?limit=1.5`, '/query/limit'],
      [`${RUNS}?limit=Infinity`, '/query/limit'],
      [`${RUNS}?status=done`, '/query/status'],
      [`${RUNS}?staus=paused`, '/query/staus'],
      [`${RUNS}?agent=`, '/query/agent'],
      [`${RUNS}?cursor=`, '/query/cursor'],
      [`${RUNS}?cursor=%00`, '/query/cursor'],
      [`${RUNS}?__proto__=x`, '/query/__proto__'],
      [`${RUNS}/x?wait=61`, '/query/wait'],
      [`${RUNS}/x?wait=-1`, '/query/wait'],
      [`${RUNS}/x?wait=forever`, '/query/wait'],
      [`${RUNS}/x?wait=NaN`, '/query/wait'],
      [`${RUNS}/x/events?cursor=-1`, '/query/cursor'],
      [`${RUNS}/x/events?cursor=1e3`, '/query/cursor'],
      [`${RUNS}/x/events?lastEventId=abc`, '/query/lastEventId'],
      ['/api/v1/interruptions?status=paused', '/query/status'],
      ['/api/v1/interruptions?run=a%20b', '/query/run'],
      ['/api/v1/agents?x=1', '/query/x'],
      ['/api/v1/trajectories?result=fine', '/query/result'],
      ['/api/v1/trajectories?status=done', '/query/status'],
      ['/api/v1/trajectories?minReward=', '/query/minReward'],
      ['/api/v1/trajectories?maxReward=1e3', '/query/maxReward'],
      ['/api/v1/trajectories?from=yesterday', '/query/from'],
      ['/api/v1/trajectories?to=0000-01-01T00:00:00Z', '/query/to'],
      ['/api/v1/trajectories?tag=', '/query/tag'],
      ['/api/v1/trajectories?task=a%00b', '/query/task'],
      ['/api/v1/trajectories?cursor=eyJ4IjoxfQ', '/query/cursor'],
      ['/api/v1/trajectories/x?limit=0', '/query/limit'],
      ['/api/v1/trajectories/x?after=-1', '/query/after'],
      [`${RUNS}/x/rewards?cursor=last`, '/query/cursor'],
    ])('%s', async (path, pointer) => {
      expect(expectProblem(await get(path), 'invalid_request').errors.map((error) => error.pointer)).toEqual([pointer]);
    });

    test('one that is there twice is said to be', async () => {
      const { errors } = expectProblem(await get(`${RUNS}?limit=1&limit=2`), 'invalid_request');
      expect(errors).toEqual([{ pointer: '/query/limit', detail: 'is there 2 times; expected once' }]);
    });

    test.each(['abc', 'WyJhIiwiYiJd', 'e30', 'bnVsbA'])('a cursor of %s that no list gave', async (cursor) => {
      for (const list of [RUNS, '/api/v1/interruptions']) {
        const { errors } = expectProblem(await get(`${list}?cursor=${cursor}`), 'invalid_request');
        expect(errors.map((error) => error.pointer)).toEqual(['/query/cursor']);
      }
    });
  });

  describe('a bad body is named', () => {
    test.each<[string, unknown, string]>([
      ['half a document', '{"agent": "echo", "input": ', 'malformed_json'],
      ['plain text', 'agent=echo', 'malformed_json'],
      ['single quotes', "{'agent': 'echo'}", 'malformed_json'],
      ['an unknown agent', { ...good, agent: 'nobody' }, 'agent_unknown'],
      ['the prototype as agent', { ...good, agent: '__proto__' }, 'agent_unknown'],
      ['an agent with a NUL', { ...good, agent: 'echo\u0000' }, 'agent_unknown'],
      ['grants that are none', { ...good, grants: ['everything'] }, 'capability_invalid'],
      ['grants that the agent lacks', { ...good, grants: ['fs:write:/'] }, 'grants_widened'],
      ['metadata that is too large', { ...good, metadata: { text: 'x'.repeat(20_000) } }, 'payload_too_large'],
      ['too many bytes', { ...good, input: 'x'.repeat(MAX_BODY_BYTES) }, 'body_too_large'],
      [
        'nesting without measure',
        `{"agent":"echo","input":[${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}]}`,
        'invalid_request',
      ],
    ])('%s', async (_what, body, code) => void expectProblem(await post(body), code));

    test.each<[unknown, string, readonly string[]]>([
      [['tool:call:echo', 'everything'], 'capability_invalid', ['/grants/1']],
      [[{ capability: 'everything', effect: 'deny' }], 'capability_invalid', ['/grants/0/capability']],
      [[{ capability: 'fs:write:/', effect: 'deny' }, 'fs:write:/'], 'grants_widened', ['/grants/1']],
    ])('the place of a wrong grant: %j', async (grants, code, pointers) => {
      expect(expectProblem(await post({ ...good, grants }), code).errors.map((error) => error.pointer)).toEqual(
        pointers,
      );
    });

    test('what is missing where any JSON value may stand', async () => {
      const { errors } = expectProblem(
        await door.ask('anna', 'POST', '/api/v1/interruptions/x/answer', {}),
        'invalid_request',
      );
      expect(errors).toEqual([
        { pointer: '/value', detail: 'Invalid input: expected a JSON value, received undefined' },
      ]);
    });

    test.each<[string, unknown, readonly string[]]>([
      ['nothing', '', ['/agent', '/input']],
      ['an empty object', {}, ['/agent', '/input']],
      ['null', 'null', ['']],
      ['a list', [], ['']],
      ['a text', '"run"', ['']],
      [
        'wrong types',
        { agent: 5, input: true, priority: 'high', metadata: [] },
        ['/agent', '/input', '/priority', '/metadata'],
      ],
      ['an empty agent', { ...good, agent: '' }, ['/agent']],
      ['an empty conversation', { ...good, input: [] }, ['/input']],
      ['a conversation of texts', { ...good, input: ['hello'] }, ['/input/0']],
      [
        'limits of nothing',
        { ...good, maxTurns: 0, maxTotalTokens: -1, maxDurationMs: 1.5 },
        ['/maxTurns', '/maxTotalTokens', '/maxDurationMs'],
      ],
      ['fields that are not known', { ...good, tenant: 'other', actor: 'root' }, ['/tenant', '/actor']],
      ['a field called __proto__', '{"agent":"echo","input":"go","__proto__":{"tenant":"x"}}', ['/__proto__']],
    ])('%s', async (_what, body, pointers) => {
      expect(expectProblem(await post(body), 'invalid_request').errors.map((error) => error.pointer)).toEqual(pointers);
    });

    test.each<[string, Record<string, string>]>([
      ['a form', { 'Content-Type': 'application/x-www-form-urlencoded' }],
      ['text', { 'Content-Type': 'text/plain' }],
      ['nothing said', { 'Content-Type': '' }],
      ['compressed', { 'Content-Encoding': 'gzip' }],
    ])(
      '%s instead of JSON',
      async (_what, headers) => void expectProblem(await post(good, headers), 'unsupported_media_type'),
    );

    test.each<[string, unknown, readonly string[]]>([
      ['approve', { message: 5 }, ['/message']],
      ['approve', { arguments: 1 }, ['/arguments']],
      ['reject', { message: '' }, ['/message']],
      ['reject', { message: 'x'.repeat(8193) }, ['/message']],
      ['answer', {}, ['/value']],
      ['answer', { value: 1, verdict: 'approve' }, ['/verdict']],
    ])('a decision to %s, number %#', async (verb, body, pointers) => {
      const answer = await door.ask('anna', 'POST', `/api/v1/interruptions/x/${verb}`, body);
      expect(expectProblem(answer, 'invalid_request').errors.map((error) => error.pointer)).toEqual(pointers);
    });

    test('a reason that is no text, and a body where none belongs', async () => {
      const cancel = await door.ask('otto', 'POST', `${RUNS}/x/cancel`, { reason: 5 });
      expect(expectProblem(cancel, 'invalid_request').errors[0]?.pointer).toBe('/reason');
      const verify = await door.ask('otto', 'POST', `${RUNS}/x/verify`, { deep: true });
      expect(expectProblem(verify, 'invalid_request').errors[0]?.pointer).toBe('/deep');
    });
  });

  /** A request whose headers `fetch` would not send. */
  function raw(headers: Record<string, string | string[]>, path = '/livez'): Promise<{ status: number; body: string }> {
    return new Promise((resolve, reject) => {
      const asked = request(`${door.http.url}${path}`, { headers }, (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          body += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
      });
      asked.on('error', reject).end();
    });
  }

  describe('the Host header', () => {
    test.each(['localhost', 'localhost:3000', '127.0.0.1', 'LocalHost:1', '[::1]:3000', '127.8.8.8'])(
      'may be %s',
      async (Host) => {
        expect((await raw({ Host })).status).toBe(200);
      },
    );

    test.each([
      'evil.example',
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      '10.0.0.1',
      'evil.example:3000',
      '@',
    ])('may not be %s', async (Host) => {
      const { status, body } = await raw({ Host, ...bearer('adam') }, '/api/v1/runs');
      expect({ status, code: JSON.parse(body).code }).toEqual({ status: 421, code: 'host_refused' });
      expect((await raw({ Host })).status).toBe(421);
    });
  });

  test('headers without end are cut short', async () => {
    expect((await raw({ 'X-Long': 'x'.repeat(20_000) })).status).toBe(431);
  });

  test('whatever the body, the answer is a named refusal or a run', async () => {
    const anyBody = fc.oneof(
      fc.json(),
      fc.string({ unit: 'binary' }),
      fc.jsonValue().map((input) => JSON.stringify({ agent: 'nobody', input })),
      fc
        .dictionary(
          fc.constantFrom('agent', 'input', 'grants', 'maxTurns', 'priority', 'metadata', 'x'),
          fc.jsonValue(),
        )
        .map((body) => JSON.stringify({ ...body, agent: 'nobody' })),
    );
    await fc.assert(
      fc.asyncProperty(anyBody, async (body) => {
        const { status } = await post(body);
        expect([400, 404]).toContain(status);
      }),
      { numRuns: 100 },
    );
  });

  test('a cursor with what a database cannot take', async () => {
    for (const forged of [
      ['2026-01-01T00:00:00.000Z', 'a\u0000b'],
      ['0000-01-01T00:00:00.000Z', 'x'],
    ]) {
      const cursor = Buffer.from(JSON.stringify(forged)).toString('base64url');
      expectProblem(await get(`${RUNS}?cursor=${cursor}`), 'invalid_request');
    }
  });
});
