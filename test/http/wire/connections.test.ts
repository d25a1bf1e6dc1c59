import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { endable } from '../../../src/http/wire/connections.js';

const REQUEST = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n';

async function open(listener: RequestListener) {
  const server = createServer({ keepAliveTimeout: 60_000 }, listener);
  const end = endable(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = async (): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return socket;
  };
  return { end, client };
}

test('those who never asked anything, or got their answer, are not waited for', async () => {
  const { end, client } = await open((_request, response) => response.end('yes'));
  await client();
  const answered = await client();
  answered.write(REQUEST);
  await once(answered, 'data');
  const from = performance.now();
  await end(10_000);
  expect(performance.now() - from).toBeLessThan(9000);
});

test('who waits for an answer gets it, whole', async () => {
  let waiting: ServerResponse | undefined;
  const { end, client } = await open((_request, response) => {
    waiting = response;
  });
  const socket = await client();
  socket.write(REQUEST);
  await expect.poll(() => waiting).toBeDefined();
  const ended = end(10_000);
  let came = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    came += chunk;
  });
  waiting?.end('x'.repeat(1_000_000));
  await ended;
  if (!socket.closed) await once(socket, 'close');
  expect(came.length).toBeGreaterThan(1_000_000);
});

test('who is not answered in time is cut off', async () => {
  let came = false;
  const { end, client } = await open(() => {
    came = true;
  });
  const socket = await client();
  socket.write(REQUEST);
  await expect.poll(() => came).toBe(true);
  await end(50);
  if (!socket.closed) await once(socket, 'close');
});
