import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** The network between processes and PostgreSQL: it can be slow, and it can be gone for a while. */
export interface Network {
  /** The URL of the database by way of this network. */
  readonly url: string;
  /** Ends every connection; until `heal` no new one is made. */
  cut(): void;
  heal(): void;
  /** Milliseconds that each piece takes in each direction: so many, or anything up to `mostMs`. */
  delay(leastMs: number, mostMs?: number): void;
  /** Bytes that each connection carries in a second, in each direction. */
  narrow(bytesPerSecond: number): void;
  close(): Promise<void>;
}

export async function openNetwork(databaseUrl: string): Promise<Network> {
  const target = new URL(databaseUrl);
  const open = new Set<Socket>();
  let isCut = false;
  let latency = { leastMs: 0, mostMs: 0 };
  let bytesPerMs = Number.POSITIVE_INFINITY;

  const carry = (from: Socket, to: Socket): void => {
    open.add(from);
    from.on('error', () => to.destroy());
    from.on('close', () => {
      open.delete(from);
      to.destroy();
    });
    let freeAt = 0;
    let waiting = 0;
    let sent: Promise<unknown> = Promise.resolve();
    from.on('data', (piece) => {
      const now = performance.now();
      freeAt = Math.max(now, freeAt) + piece.length / bytesPerMs;
      const { leastMs, mostMs } = latency;
      const takesMs = freeAt - now + leastMs + Math.random() * (mostMs - leastMs);
      if (takesMs === 0 && waiting === 0) return void to.write(piece);
      // However long each takes, none comes before the one that was sent before it.
      waiting += 1;
      const arrives = sleep(takesMs);
      sent = sent
        .then(() => arrives)
        .then(() => {
          waiting -= 1;
          if (to.writable) to.write(piece);
        });
      return undefined;
    });
  };
  const server = createServer((client) => {
    if (isCut) return client.destroy();
    const upstream = connect(Number(target.port || 5432), target.hostname);
    carry(client, upstream);
    carry(upstream, client);
    return undefined;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const cut = (): void => {
    isCut = true;
    for (const socket of open) socket.destroy();
  };
  return {
    url: Object.assign(new URL(databaseUrl), { hostname: '127.0.0.1', port: String(port) }).href,
    cut,
    heal: () => {
      isCut = false;
    },
    delay: (leastMs, mostMs = leastMs) => {
      latency = { leastMs, mostMs };
    },
    narrow: (bytesPerSecond) => {
      bytesPerMs = bytesPerSecond / 1000;
    },
    close: async () => {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}
