import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Stands between a worker and the engine, and holds one request until it is let go. */
export interface HoldingProxy {
  readonly host: string;
  /** Holds the first request of this method whose path has this text; settles when it has come. */
  holdNext(method: string, text: string): Promise<void>;
  release(): void;
  /** Lets it go, and is gone: the engine does it, and who has asked hears nothing of it and reaches the engine no more. */
  die(): void;
  close(): void;
}

let made = 0;

export async function holdingProxy(engineHost: string): Promise<HoldingProxy> {
  const path = join(tmpdir(), `holdfast-hold-${process.pid}-${made++}.sock`);
  const sockets = new Set<Socket>();
  let wanted: { readonly begins: RegExp; readonly come: () => void } | null = null;
  let held: { readonly piece: Buffer; readonly from: Socket; readonly to: Socket } | null = null;
  const pass = (from: Socket, to: Socket, isRequest: boolean): void => {
    sockets.add(from);
    from.on('data', (piece: Buffer) => {
      if (isRequest && wanted?.begins.test(piece.toString('latin1').split('\r\n', 1)[0] ?? '')) {
        held = { piece, from, to };
        from.pause();
        const { come } = wanted;
        wanted = null;
        come();
      } else to.write(piece);
    });
    from.on('end', () => to.end());
    from.on('error', () => to.destroy());
    from.on('close', () => sockets.delete(from));
  };
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const engine = connect({ path: engineHost.slice('unix://'.length), allowHalfOpen: true });
    pass(client, engine, true);
    pass(engine, client, false);
  }).listen(path);
  await once(server, 'listening');
  return {
    host: `unix://${path}`,
    holdNext: (method, text) =>
      new Promise((come) => {
        wanted = { begins: new RegExp(`^${method} [^ ]*${text}[& ]`), come };
      }),
    release: () => {
      held?.to.write(held.piece);
      held?.from.resume();
      held = null;
    },
    die: () => {
      held?.to.write(held.piece);
      for (const socket of sockets) if (socket !== held?.to) socket.destroy();
      server.close();
      rmSync(path, { force: true });
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      rmSync(path, { force: true });
    },
  };
}
