import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';

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
