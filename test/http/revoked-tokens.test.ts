import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { runView } from '../../src/core/runs/run.js';
import { LINES_TYPE } from '../../src/http/wire/lines.js';
import { aTask } from '../core/tasks/a-task.js';
import { describeEachDatabase } from '../harness/database.js';
import { type Door, expectProblem, openDoor, TOKENS } from './door.js';
import { openStream } from './event-stream.js';

describeEachDatabase('a token that is taken away', (kind) => {
  let door: Door;
  let id = '';
  beforeAll(async () => {
    door = await openDoor(kind);
    const { json } = await door.ask('otto', 'POST', '/api/v1/runs', { agent: 'slow', input: 'go' });
    ({ id } = runView.parse(json));
  });
  beforeEach(() => door.http.setTokens(Object.values(TOKENS)));
  afterAll(() => door.close());

  const without = (token: object) => Object.values(TOKENS).filter((one) => one !== token);

  test('is refused, and others are not', async () => {
    door.http.setTokens(without(TOKENS.vera));
    expectProblem(await door.ask('vera', 'GET', `/api/v1/runs/${id}`), 'unauthenticated');
    expect((await door.ask('otto', 'GET', `/api/v1/runs/${id}`)).status).toBe(200);
  });

  test('ends its streams, and no others', async () => {
    const [ofVera, ofOtto] = [
      await openStream(door, 'vera', `/api/v1/runs/${id}/events`),
      await openStream(door, 'otto', `/api/v1/runs/${id}/events`),
    ];
    let ottoEnded = false;
    void ofOtto.ended.then(() => {
      ottoEnded = true;
    });
    door.http.setTokens(without(TOKENS.vera));
    await ofVera.ended;
    expect(ofVera.messages.map(({ event }) => event)).not.toContain('end');
    expect((await door.ask('otto', 'GET', `/api/v1/runs/${id}`)).status).toBe(200);
    expect(ottoEnded).toBe(false);
    ofOtto.close();
  });

  test('ends its waits, which answer nothing', async () => {
    const waiting = door.ask('vera', 'GET', `/api/v1/runs/${id}?wait=60`);
    const counted = async () => (await door.ask('otto', 'GET', `/api/v1/runs/${id}`)).status;
    expect(await counted()).toBe(200);
    door.http.setTokens(without(TOKENS.vera));
    expectProblem(await waiting, 'unauthenticated');
  });

  const shown = async (path: string) => (await door.ask('otto', 'GET', path)).text;
  /** A request of which the body does not come whole. */
  const begun = (path: string, type: string, body: string): Socket => {
    const socket = createConnection({ host: '127.0.0.1', port: door.http.port });
    const head = [`POST ${path} HTTP/1.1`, 'Host: localhost', `Authorization: Bearer ${TOKENS.anna.token}`];
    const more = [`Content-Type: ${type}`, 'Transfer-Encoding: chunked', 'Idempotency-Key: revoked'];
    socket.setEncoding('utf8').write(`${[...head, ...more].join('\r\n')}\r\n\r\n${piece(body)}`);
    return socket;
  };
  const piece = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

  test('does nothing with a body that comes later, which is not waited for', async () => {
    door.http.setTokens([...without(TOKENS.anna), { ...TOKENS.anna, role: 'operator' }]);
    const socket = begun('/api/v1/runs', 'application/json', '{"agent":"echo","inp');
    const answered = once(socket, 'data');
    // The server has the head of the request when it has answered another one.
    await shown('/api/v1/runs');
    door.http.setTokens(without(TOKENS.anna));
    expect(String(await answered)).toMatch(/^HTTP\/1\.1 401 /);
    socket.end(`${piece('ut":"too late"}')}0\r\n\r\n`);
    await once(socket, 'close');
    expect(await shown('/api/v1/runs')).not.toContain('too late');
  });

  test('does nothing with the lines that come later', async () => {
    door.http.setTokens([...without(TOKENS.anna), { ...TOKENS.anna, role: 'operator' }]);
    const line = (name: string) => `${JSON.stringify({ task: { ...aTask(), name }, agent: 'echo' })}\n`;
    const socket = begun('/api/v1/tasks/batch', LINES_TYPE, line('too-late'));
    expect(String(await once(socket, 'data'))).toMatch(/^HTTP\/1\.1 200 /);
    const closed = new Promise((resolve) => socket.resume().once('error', resolve).once('close', resolve));
    door.http.setTokens(without(TOKENS.anna));
    socket.write(`${piece(line('too-late-too'))}0\r\n\r\n`);
    await closed;
    expect(await shown('/api/v1/tasks')).not.toContain('too-late');
  });

  test('may come back with another role', async () => {
    door.http.setTokens([...without(TOKENS.vera), { ...TOKENS.vera, role: 'operator' }]);
    const { status } = await door.ask('vera', 'POST', '/api/v1/runs', { agent: 'echo', input: 'go' });
    expect(status).toBe(202);
  });
});
