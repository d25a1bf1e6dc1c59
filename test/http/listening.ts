import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';

/** Serves one listener on a free port of loopback. */
export async function listening(listener: RequestListener): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
