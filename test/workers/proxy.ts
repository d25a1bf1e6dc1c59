import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** What is remembered of each connection. */
const CARRIED_CHARS = 10_000;

/** The network between processes and PostgreSQL: it can be slow, and it can be gone for a while. */
export interface Network {
  /** The URL of the database by way of this network. */
  readonly url: string;
  /** Ends every connection; until `heal` no new one is made. */
  cut(): void;
  heal(): void;
  /** From here on nothing passes on the connections that have carried a text, and neither side hears that they are gone. */
  hole(text: string): void;
  /** Carries nothing more of the connections that there are, and keeps them open; new ones work, unless `all`. */
  freeze(all: boolean): void;
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
  let isFrozen = false;
  const frozen = new WeakSet<Socket>();
  const lost = new WeakSet<Socket>();
  const carried = new WeakMap<Socket, string>();
  const others = new WeakMap<Socket, Socket>();
  let latency = { leastMs: 0, mostMs: 0 };
  let bytesPerMs = Number.POSITIVE_INFINITY;

  const carry = (from: Socket, to: Socket): void => {
    open.add(from);
    from.on('error', () => to.destroy());
    from.on('close', () => {
      open.delete(from);
      if (!lost.has(from)) to.destroy();
    });
    others.set(from, to);
    let freeAt = 0;
    let waiting = 0;
    let sent: Promise<unknown> = Promise.resolve();
    from.on('data', (piece) => {
      if (isFrozen || frozen.has(from)) return undefined;
      carried.set(from, ((carried.get(from) ?? '') + piece.toString('latin1')).slice(-CARRIED_CHARS));
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
      isFrozen = false;
    },
    freeze: (all) => {
      isFrozen = all;
      for (const socket of open) frozen.add(socket);
    },
    hole: (text) => {
      for (const from of open) {
        const to = others.get(from);
        if (to === undefined || !carried.get(from)?.includes(text)) continue;
        frozen.add(from).add(to);
        lost.add(from).add(to);
      }
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
