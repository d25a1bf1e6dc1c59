import { connect } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Door, openDoor } from '../door.js';

let door: Door;
beforeEach(async () => {
  door = await openDoor('pglite');
});
afterEach(() => door.close());

/** Sends requests one behind the other before it reads anything. Gives what came, and whether the connection was ended. */
async function pipelined(count: number): Promise<{ readonly answers: number; readonly wasEnded: boolean }> {
  const { hostname, port, host } = new URL(door.http.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  let came = '';
  socket.setEncoding('latin1').on('data', (text: string) => {
    came += text;
  });
  const answers = (): number => came.match(/HTTP\/1\.1 200/g)?.length ?? 0;
  socket.write(`GET /livez HTTP/1.1\r\nHost: ${host}\r\n\r\n`.repeat(count));
  const ended = new Promise<boolean>((resolve) => socket.once('close', () => resolve(true)));
  const answered = expect.poll(answers, { timeout: 60_000 }).toBe(count);
  const wasEnded = await Promise.race([ended, answered.then(() => false)]);
  socket.destroy();
  answered.catch(() => undefined);
  return { answers: answers(), wasEnded };
}

test('a few requests one behind the other are all answered', async () => {
  expect(await pipelined(50)).toEqual({ answers: 50, wasEnded: false });
});

test('thousands of them end the connection, and others are served', { timeout: 90_000 }, async () => {
  const { answers, wasEnded } = await pipelined(5000);
  expect(wasEnded).toBe(true);
  expect(answers).toBeLessThanOrEqual(100);
  expect((await door.ask('vera', 'GET', '/livez')).status).toBe(200);
});
