import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { type AddressInfo, Socket } from 'node:net';

/** A request that a server received. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
  /** The body as it came. */
  readonly bytes: Buffer;
}

/** Writes one answer. It may also leave it open, cut it or reset the connection. */
export type Answerer = (response: ServerResponse, request: Received) => Promise<void> | void;

export interface WireServer extends AsyncDisposable {
  readonly url: string;
  readonly received: readonly Received[];
  /** Settles when the first request has arrived. */
  readonly arrived: Promise<void>;
  /** Settles when the client of an answer that was left open is gone. */
  readonly abandoned: Promise<void>;
}

/** A real HTTP server on loopback. The answers are given in turn, the last one again and again. */
export async function wireServer(...answers: readonly Answerer[]): Promise<WireServer> {
  const received: Received[] = [];
  let arrive = (): void => undefined;
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  let leave = (): void => undefined;
  const abandoned = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(Buffer.from(piece));
    const bytes = Buffer.concat(pieces);
    const text = bytes.toString('utf8');
    const body: Record<string, unknown> = text === '' ? {} : JSON.parse(text);
    const one: Received = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body,
      bytes,
    };
    received.push(one);
    arrive();
    response.on('close', () => {
      if (!response.writableFinished) leave();
    });
    await answers[Math.min(received.length, answers.length) - 1]?.(response, one);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    arrived,
    abandoned,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export const status =
  (code: number, body: string, headers: Record<string, string> = {}): Answerer =>
  (response) => {
    response.writeHead(code, headers).end(body);
  };

export const htmlPage = (code: number, headers: Record<string, string> = {}): Answerer =>
  status(code, '<!DOCTYPE html><html><head><title>Bad Gateway</title></head><body><h1>nginx</h1></body></html>', {
    'content-type': 'text/html',
    ...headers,
  });

export const reset: Answerer = (response) => {
  const { socket } = response;
  if (socket instanceof Socket) socket.resetAndDestroy();
};

/** Takes the request and never answers. */
export const silence: Answerer = () => undefined;

/** Writes pieces one by one, each in its own packet as far as that can be had. */
export async function writePieces(response: ServerResponse, pieces: Iterable<Uint8Array>, pauseMs = 2): Promise<void> {
  for (const piece of pieces) {
    response.write(piece);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** Bytes in pieces of one length, so that lines and characters are cut anywhere. */
export function* cutInto(bytes: Uint8Array, length: number): Iterable<Uint8Array> {
  for (let start = 0; start < bytes.length; start += length) yield bytes.subarray(start, start + length);
}

/** Waits until the client has read what was written, or is gone. */
export const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const settle = (): void => {
      response.off('drain', settle);
      response.off('close', settle);
      resolve();
    };
    response.once('drain', settle);
    response.once('close', settle);
    if (response.destroyed) settle();
  });
