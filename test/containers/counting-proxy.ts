import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Stands between a program and the engine and counts what goes either way. */
export interface CountingProxy {
  readonly host: string;
  /** How many pieces have come by. */
  readonly count: () => number;
  /** Called with each number, before its piece goes on. */
  onPiece: (count: number) => void;
  close(): Promise<void>;
}

let made = 0;

export async function countingProxy(engineHost: string): Promise<CountingProxy> {
  const path = join(tmpdir(), `holdfast-proxy-${process.pid}-${made++}.sock`);
  const sockets = new Set<Socket>();
  let pieces = 0;
  const pass = (from: Socket, to: Socket): void => {
    sockets.add(from);
    from.on('data', (piece) => {
      proxy.onPiece(++pieces);
      to.write(piece);
    });
    from.on('end', () => to.end());
    from.on('error', () => to.destroy());
    from.on('close', () => sockets.delete(from));
  };
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const engine = connect({ path: engineHost.slice('unix://'.length), allowHalfOpen: true });
    pass(client, engine);
    pass(engine, client);
  }).listen(path);
  await once(server, 'listening');
  const proxy: CountingProxy = {
    host: `unix://${path}`,
    count: () => pieces,
    onPiece: () => {},
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
      rmSync(path, { force: true });
    },
  };
  return proxy;
}
