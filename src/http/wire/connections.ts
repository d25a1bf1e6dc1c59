import type { RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Ends a server without waiting for those who ask nothing: Node's own `closeIdleConnections` leaves alone what was never
 * asked anything on, and what becomes idle after it was called.
 */
export function endable(server: Server): (graceMs: number) => Promise<void> {
  const asked = new Map<Socket, number>();
  let ending = false;
  const change = (socket: Socket, by: number): void => {
    const count = (asked.get(socket) ?? 0) + by;
    asked.set(socket, count);
    if (ending && count === 0) socket.destroySoon();
  };
  server.on('connection', (socket) => {
    asked.set(socket, 0);
    socket.once('close', () => asked.delete(socket));
  });
  server.on('request', ({ socket }, response) => {
    change(socket, 1);
    response.once('close', () => {
      if (asked.has(socket)) change(socket, -1);
    });
  });
  const closed = new Promise<void>((resolve) => {
    server.once('close', resolve);
  });
  return async (graceMs) => {
    ending = true;
    server.close();
    for (const socket of asked.keys()) change(socket, 0);
    const deadline = setTimeout(() => server.closeAllConnections(), graceMs);
    await closed;
    clearTimeout(deadline);
  };
}

/** Clients that send the next request before the last answer has come send a few. */
const UNANSWERED_MOST = 100;

/**
 * Ends a connection that has more than 100 requests without an answer. Node takes all the requests that have come in one piece before it
 * looks at another connection, so that thousands of them would keep everybody else waiting for seconds, without a token.
 */
export function boundPipelines(handle: RequestListener): RequestListener {
  const unanswered = new WeakMap<Socket, number>();
  const change = (socket: Socket, by: number): number => {
    const count = (unanswered.get(socket) ?? 0) + by;
    unanswered.set(socket, count);
    return count;
  };
  return (request, response) => {
    const { socket } = request;
    // The rest of the piece still comes after the connection has ended.
    if (socket.destroyed) return;
    if (change(socket, 1) > UNANSWERED_MOST) return void socket.destroy();
    response.once('close', () => change(socket, -1));
    handle(request, response);
  };
}
