import type { Server } from 'node:http';
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
