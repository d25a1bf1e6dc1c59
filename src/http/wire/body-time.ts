import type { IncomingMessage, Server, ServerResponse } from 'node:http';

interface Limit {
  readonly begin: () => void;
  readonly end: () => void;
}

const limits = new WeakMap<IncomingMessage, Limit>();

const TOO_LATE = 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n';

/** Cuts off requests whose bodies have not come whole after so long. Node's own limit, `requestTimeout`, knows no exceptions. */
export function limitBodies(server: Server, bodyMs: number): void {
  server.prependListener('request', (request, response) => limitBody(request, response, bodyMs));
}

/** The same for one request. */
export function limitBody(request: IncomingMessage, response: ServerResponse, bodyMs: number): void {
  const { socket } = request;
  const cut = (): void => {
    if (request.complete || socket.destroyed) return;
    if (!response.headersSent) socket.write(TOO_LATE);
    socket.destroySoon();
  };
  let timer: NodeJS.Timeout | undefined;
  const end = () => clearTimeout(timer);
  const begin = (): void => {
    end();
    timer = setTimeout(cut, bodyMs).unref();
  };
  limits.set(request, { begin, end });
  begin();
  request.once('close', end);
}

/** Takes the limit off a body whose reader looks after its time. What it gives puts it on again, for what is left of the body. */
export function ownTime(request: IncomingMessage): () => void {
  const limit = limits.get(request);
  limit?.end();
  return () => limit?.begin();
}
