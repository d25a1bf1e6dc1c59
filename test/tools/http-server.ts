import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { GrantInput } from '../../src/core/grants/grants.js';
import { toolSpecOf } from '../../src/tools/define/define-tool.js';
import { type HttpRequestOptions, httpRequestTool } from '../../src/tools/http/http-request.js';

const servers: Server[] = [];
export async function closeServers(): Promise<void> {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }
}

export interface Served {
  readonly port: number;
  readonly requests: {
    readonly method: string;
    readonly url: string;
    readonly headers: IncomingMessage['headers'];
    readonly body: string;
  }[];
}

/** A real server on loopback that keeps what it was asked. */
export async function serve(listener: RequestListener): Promise<Served> {
  const requests: Served['requests'] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    const body = Buffer.concat(chunks).toString();
    requests.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body });
    listener(request, response);
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, requests };
}

export const ALL: readonly GrantInput[] = ['network:http:*'];

/** Names that all lead to loopback, and a tool that may go there. */
export const toolFor = (ports: readonly number[], options: HttpRequestOptions = {}) =>
  toolSpecOf(
    httpRequestTool({
      allowPrivateAddresses: ports.flatMap((port) => [`127.0.0.1:${port}`, `one.test:${port}`, `two.test:${port}`]),
      resolve: async () => [{ address: '127.0.0.1', family: 4 }],
      ...options,
    }),
  );
