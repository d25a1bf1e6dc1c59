import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clientRoutes } from '../../scripts/docs/client-routes.js';
import { type Client, createClient, HoldfastError, type RunEvent } from '../../src/client/client.js';
import { OPERATIONS } from '../../src/core/operations/table.js';
import { pageText } from '../docs/pages.js';
import { describeEachDatabase } from '../harness/database.js';
import { type Door, openDoor, TOKENS } from '../http/door.js';
import { listening } from '../http/listening.js';

const caught = (done: Promise<unknown>): Promise<unknown> =>
  done.then(
    () => 'nothing was thrown',
    (error: unknown) => error,
  );

describeEachDatabase('holdfast/client', (kind) => {
  let door: Door;
  let otto: Client;
  let anna: Client;
  beforeAll(async () => {
    door = await openDoor(kind);
    otto = createClient({ url: `${door.http.url}/`, token: TOKENS.otto.token });
    anna = createClient({ url: door.http.url, token: async () => TOKENS.anna.token });
  });
  afterAll(() => door.close());

  test('starts a run once under a key, decides its call and reads its result', async () => {
    const started = await otto.startRun({ agent: 'payer', input: 'go' }, { key: 'order"7"' });
    const again = await otto.startRun({ agent: 'payer', input: 'go' }, { key: 'order"7"' });
    expect(again.id).toBe(started.id);
    const paused = await otto.getRun(started.id, { wait: 30 });
    expect(paused.status).toBe('paused');
    const { items } = await anna.listInterruptions({ status: 'pending', run: started.id });
    expect(items.map(({ id }) => id)).toEqual(paused.interruptions);
    await anna.decide(paused.interruptions[0] ?? '', { verdict: 'approve' });
    expect(await otto.getRun(started.id, { wait: 30 })).toMatchObject({ status: 'completed', output: 'done' });
  });

  test('reads the events of a run to their end, and from a place on', async () => {
    const { id } = await otto.startRun({ agent: 'echo', input: 'go' });
    const live: RunEvent[] = [];
    for await (const event of otto.streamEvents(id)) live.push(event);
    expect(live.at(-1)?.kind).toBe('run.completed');
    expect((await otto.listEvents(id, { limit: 200 })).items).toEqual(live);
    const rest: RunEvent[] = [];
    for await (const one of otto.streamRun(id, { after: 2 })) if ('seq' in one) rest.push(one);
    expect(rest).toEqual(live.slice(2));
  });

  test('reads what happens in the system until its signal fires', async () => {
    const adam = createClient({ url: door.http.url, token: TOKENS.adam.token });
    const { id } = await otto.startRun({ agent: 'echo', input: 'go' });
    const leaving = new AbortController();
    const seen: string[] = [];
    const reading = (async () => {
      for await (const event of adam.streamSystemEvents({ run: id, signal: leaving.signal })) {
        if ('kind' in event) seen.push(event.kind);
        leaving.abort(new Error('seen enough'));
      }
    })();
    await expect(reading).rejects.toThrow('seen enough');
    expect(seen).toHaveLength(1);
  });

  test('throws the error of the server with the code, hint and fields that the library throws', async () => {
    const unknown = await caught(otto.getRun('run_none'));
    const inLibrary = await caught(door.engine.getRun('run_none', TOKENS.otto));
    expect(unknown).toBeInstanceOf(HoldfastError);
    const { code, message, hint, status } = inLibrary as HoldfastError;
    expect(unknown).toMatchObject({ code, message, hint, status });
    const wrong = await caught(otto.startRun({ agent: 'echo', input: 'go', maxTurns: -1 }));
    expect(wrong).toMatchObject({ code: 'invalid_request', fields: [{ pointer: '/maxTurns' }] });
    const vera = createClient({ url: door.http.url, token: TOKENS.vera.token });
    expect(await caught(vera.startRun({ agent: 'echo', input: 'go' }))).toMatchObject({ code: 'forbidden' });
    const nameless = createClient({ url: door.http.url, token: 'none' });
    expect(await caught(nameless.listRuns())).toMatchObject({ code: 'unauthenticated', status: 401 });
    expect((unknown as HoldfastError).requestId).toMatch(/^[\da-f-]{36}$/);
  });

  test('answers lines of a batch in their order', async () => {
    const answers = [];
    const lines = [{ task: { name: 'no-such-task', version: '1' }, agent: 'echo' }];
    for await (const answer of otto.submitTasks(lines, { key: 'batch-1' })) answers.push(answer);
    expect(answers).toHaveLength(2);
    expect(answers[1]).toMatchObject({ end: true, submitted: 0 });
  });

  test('tells the reason of its caller from a server that is late', async () => {
    const { id } = await otto.startRun({ agent: 'slow', input: 'go' });
    const late = await caught(otto.getRun(id, { wait: 30 }, { timeoutMs: 200 }));
    expect(late).toMatchObject({ code: 'server_unreachable', status: 503 });
    const signal = AbortSignal.abort(new Error('left'));
    expect(await caught(otto.getRun(id, {}, { signal }))).toMatchObject({ message: 'left' });
    await otto.cancelRun(id, { reason: 'enough' });
  });
});

test('a request that cannot be sent as it is meant is refused, and asks nothing', async () => {
  const asked: string[] = [];
  const client = createClient({
    ...{ url: 'http://127.0.0.1:9', token: 'none' },
    fetch: async (url) => {
      asked.push(String(url));
      return new Response('{}');
    },
  });
  const odd = createClient({ url: 'http://127.0.0.1:9', token: '日', fetch: async () => new Response('{}') });
  const requests: readonly Promise<unknown>[] = [
    ...['', '.', '..', '\ud800', undefined, 5].map((id) => client.getRun(id as string)),
    client.cancelRun('..'),
    client.decide('itr_1', { verdict: 'cancelRun' } as never),
    client.decide('itr_1', {} as never),
    client.decide('..', { verdict: 'approve' }),
    client.startRun({ agent: 'echo', input: 'go' }, { key: '日' }),
    client.startRun({ agent: 'echo', input: 'go' }, { key: 'a\nb' }),
    client.startRun({ agent: 'echo', input: 5n } as never),
    ...[Number.NaN, -1, 2 ** 31, '5'].map((timeoutMs) => client.listRuns({}, { timeoutMs } as never)),
    odd.listRuns(),
    client.startRun({ agent: 'echo', input: 'go' }, { kye: 'a' } as never),
    client.startRun({ agent: 'echo', input: 'go' }, { key: 5 } as never),
    client.startRun({ agent: 'echo', input: 'go' }, 'a' as never),
    (client.startRun as (...given: unknown[]) => Promise<unknown>)({ agent: 'echo', input: 'go' }, {}, { key: 'a' }),
    client.decide('itr_1', undefined as never),
    client.decide('itr_1', { verdict: 'approve' }, { timeout: 5 } as never),
    ...[undefined, {}, { key: undefined }, { key: 'a', timeoutMs: 5 }].map(async (options) =>
      client.submitTasks([], options as never).next(),
    ),
    ...[{ retryMs: 5 }, { retryForMs: Number.NaN }, { retryForMs: '5' }, { after: '3' }, { after: -1 }].map(
      async (options) => client.streamEvents('run_1', options as never).next(),
    ),
    (async () => client.streamRun('run_1', { after: 'now' } as never).next())(),
    (async () => client.streamSystemEvents({ kinds: 'run.ended' } as never).next())(),
  ];
  for (const request of requests) {
    const error = await caught(request);
    expect(error).toBeInstanceOf(HoldfastError);
    expect(error).toMatchObject({ code: 'invalid_request', hint: expect.stringMatching(/^(Give|Leave)/) });
  }
  expect(asked).toEqual([]);
  for (const url of ['', undefined, 5]) expect(() => createClient({ url, token: '' } as never)).toThrow('no url');
  for (const more of [{ tokn: 'x' }, { fetchh: fetch }, { token: undefined }, { token: null }])
    expect(() => createClient({ url: 'http://127.0.0.1:9', token: 'x', ...more } as never)).toThrow(HoldfastError);
  expect(await client.getRun('a/b?c#d')).toEqual({});
  expect(asked).toEqual(['http://127.0.0.1:9/api/v1/runs/a%2Fb%3Fc%23d']);
});

describe('what is no server of Holdfast', () => {
  const at = (url: string) => createClient({ url, token: 'none' });

  test('is said where no one listens', async () => {
    expect(await caught(at('http://127.0.0.1:9').listRuns())).toMatchObject({ code: 'server_unreachable' });
  });

  test('a url with a password is refused, and the error does not show it', () => {
    expect(() => at('http://me:secret@127.0.0.1:9')).toThrow(/^(?!.*secret).*names a user or a password/);
  });

  test('may answer anything', async () => {
    const answers: readonly [number, string][] = [
      [200, 'not JSON'],
      [302, '{}'],
      [500, '<h1>Error</h1>'],
      [404, '{"error":"none"}'],
    ];
    for (const [status, body] of answers) {
      const server = await listening((_request, response) => {
        response.writeHead(status, { Location: '/elsewhere' }).end(body);
      });
      const error = await caught(at(server.url).listRuns());
      await server.close();
      expect(error, body).toMatchObject({ code: 'server_unreachable' });
    }
  });

  test('may cut a stream', async () => {
    const event = 'id: 1\nevent: run.started\ndata: {"seq":1}\n\n';
    const server = await listening((_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(event);
      setTimeout(() => response.destroy(), 50);
    });
    const seen: RunEvent[] = [];
    const reading = (async () => {
      for await (const one of at(server.url).streamEvents('run_1')) seen.push(one);
    })();
    expect(await caught(reading)).toMatchObject({ code: 'server_unreachable' });
    expect(seen).toEqual([{ seq: 1 }]);
    await server.close();
  });

  test('may be away for a while: a stream connects again after its last event, and gives up in its time', async () => {
    const asked: unknown[] = [];
    const server = await listening((request, response) => {
      asked.push(request.headers['last-event-id']);
      if (asked.length === 2) return void request.socket.destroy();
      const refused = { code: 'database_unavailable', detail: 'away', hint: 'wait', status: 503, requestId: 'r' };
      if (asked.length === 3) return void response.writeHead(503).end(JSON.stringify(refused));
      const seq = asked.length === 1 ? 1 : 2;
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(`data: {"seq":${seq}}\n\n`);
      if (seq === 2) return void response.end('event: end\ndata: {}\n\n');
      setTimeout(() => response.destroy(), 50);
    });
    const seen: unknown[] = [];
    for await (const { seq } of at(server.url).streamEvents('run_1', { retryForMs: 30_000 })) seen.push(seq);
    expect(seen).toEqual([1, 2]);
    expect(asked).toEqual(['0', '1', '1', '1']);
    await server.close();
    const begun = Date.now();
    const none = at(server.url).streamEvents('run_1', { retryForMs: 1000 }).next();
    expect(await caught(none)).toMatchObject({ code: 'server_unreachable' });
    expect(Date.now() - begun).toBeGreaterThan(500);
    const left = at(server.url)
      .streamRun('run_1', { retryForMs: 60_000, signal: AbortSignal.timeout(100) })
      .next();
    expect(await caught(left)).toMatchObject({ name: 'TimeoutError' });
  });
});

test('the routes of the client are those of the table', () => {
  expect(pageText('src/client/routes.ts'), 'run "npm run docs"').toBe(clientRoutes());
  const client = createClient({ url: 'http://127.0.0.1:9', token: 'none' });
  expect(Object.keys(client)).toEqual(expect.arrayContaining(Object.keys(OPERATIONS)));
});
