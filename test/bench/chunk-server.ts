import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface ChunkServer {
  readonly url: string;
  close(): Promise<void>;
}

/** What a chunk says: when it left, by the clock of the machine, in milliseconds. */
export const stampOf = (): string => `${(performance.timeOrigin + performance.now()).toFixed(2)};`;

/** Speaks as Ollama does: so many chunks after a while, one every `everyMs`, or as fast as they are taken. */
export async function chunkServer(chunks: number, everyMs: number, afterMs: number): Promise<ChunkServer> {
  const line = (content: string, rest: object = {}) =>
    `${JSON.stringify({ model: 'bench', created_at: new Date().toISOString(), message: { role: 'assistant', content }, done: false, ...rest })}\n`;
  const last = line('', { done: true, done_reason: 'stop', prompt_eval_count: 1, eval_count: chunks });
  const server = createServer(async (request, response) => {
    request.resume();
    await once(request, 'end');
    response.writeHead(200, { 'content-type': 'application/x-ndjson' }).flushHeaders();
    await sleep(afterMs);
    for (let n = 0; n < chunks && !response.destroyed; n++) {
      const isTaken = response.write(line(stampOf()));
      if (everyMs > 0) await sleep(everyMs);
      else if (!isTaken) await once(response, 'drain');
    }
    response.end(last);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
