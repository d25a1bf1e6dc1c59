import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { chmod, rename, stat } from 'node:fs/promises';
import http from 'node:http';
import { connect, type LookupFunction, type Socket } from 'node:net';
import { type Duplex, pipeline, Transform } from 'node:stream';
import { mayReach } from '../../core/containers/environment-spec.js';

const MOST_CONNECTIONS = 128;
const IDLE_MS = 120_000;
/** As long as the longest command. */
const LONGEST_MS = 3_600_000;
/** Of one request or tunnel, each way. */
const MOST_BYTES = 4 * 1024 ** 3;
const LOOK_EVERY_MS = 30_000;

export interface EgressPolicy {
  readonly rules: readonly string[];
  /** The addresses of a host; all may be reached. Throws for a host with one that may not, and for a host that has none. */
  readonly addressesOf: (host: string, port: number) => Promise<readonly LookupAddress[]>;
  readonly onDenied: (denied: { readonly host: string; readonly port: number; readonly why: string }) => void;
}

interface Target {
  readonly host: string;
  readonly port: number;
  /** Gives the addresses that were looked at, and no other: a name is not asked for twice. */
  readonly lookup: LookupFunction;
}

/** Of one hop, and not of what is beyond it (RFC 9110, 7.6.1). */
const OF_THE_HOP = [
  'connection',
  'proxy-connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'proxy-authorization',
];

/** Headers without those of the hop, which are also all that `Connection` names. */
function beyondTheHop(headers: http.IncomingHttpHeaders): http.IncomingHttpHeaders {
  const named = (headers.connection ?? '').toLowerCase().split(/[\s,]+/);
  const left = new Set([...OF_THE_HOP, ...named]);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !left.has(name)));
}

/** A proxy for HTTP, and for tunnels (CONNECT), on a socket of this machine. What no rule names is answered with 403. */
export class EgressProxy {
  readonly #policy: EgressPolicy;
  readonly #server: http.Server;
  readonly #open = new Set<Socket>();
  readonly #onClose: () => void;
  #look: NodeJS.Timeout | undefined;
  #place: { readonly path: string; readonly ino: number } | null = null;

  /** `onClose`: called when it listens no more, whatever the reason. */
  constructor(policy: EgressPolicy, onClose: () => void = () => {}) {
    this.#policy = policy;
    this.#onClose = onClose;
    this.#server = http.createServer({ maxHeaderSize: 32_768, headersTimeout: 30_000, requestTimeout: LONGEST_MS });
    this.#server.maxConnections = MOST_CONNECTIONS;
    this.#server.on('connection', (socket) => this.#bound(socket));
    this.#server.on('request', (request, response) => void this.#forward(request, response));
    this.#server.on('connect', (request, socket, head) => void this.#tunnel(request, socket, head));
    this.#server.on('clientError', (_error, socket) => socket.destroy());
  }

  /** Takes the place of the one that listens there. When someone takes its own, or the socket goes, it closes. */
  async listen(path: string): Promise<void> {
    // A server that closes removes the path that it began with: a name that no one uses by then.
    const begun = `${path}.${process.pid}`;
    this.#server.listen(begun);
    await once(this.#server, 'listening');
    await chmod(begun, 0o666);
    const { ino } = await stat(begun);
    await rename(begun, path);
    this.#server.unref();
    this.#place = { path, ino };
    this.#look = setInterval(
      () => void this.isThere().then((isThere) => isThere || this.close()),
      LOOK_EVERY_MS,
    ).unref();
  }

  /** Whether what connects to the socket still comes here. */
  async isThere(): Promise<boolean> {
    const place = this.#place;
    if (place === null) return false;
    const found = await stat(place.path).catch(() => null);
    return found?.ino === place.ino && this.#place !== null;
  }

  close(): void {
    if (this.#place !== null) this.#onClose();
    this.#place = null;
    clearInterval(this.#look);
    this.#server.close();
    for (const socket of this.#open) socket.destroy();
  }

  /** What a container holds open is ended when it is idle, when it is late, and when the proxy closes. */
  #bound(socket: Socket): void {
    this.#open.add(socket);
    const late = setTimeout(() => socket.destroy(), LONGEST_MS).unref();
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      clearTimeout(late);
      this.#open.delete(socket);
    });
  }

  /** Null: it is denied, which was told. */
  async #target(host: string, port: number): Promise<Target | string> {
    const denied = (why: string): string => {
      this.#policy.onDenied({ host: host.slice(0, 253), port, why });
      // Where a name leads inside is not the container's to know.
      return `${host}:${port} may not be reached from this container\n`;
    };
    if (!mayReach(this.#policy.rules, host, port)) return denied('no rule of allowedEgress names it');
    try {
      const addresses = await this.#policy.addressesOf(host, port);
      const lookup: LookupFunction = (_host, options, done) => {
        const [first] = addresses;
        if (options.all === true) done(null, [...addresses]);
        else done(null, first?.address ?? '', first?.family);
      };
      return { host, port, lookup };
    } catch (error) {
      return denied(error instanceof Error ? error.message : 'it has no address');
    }
  }

  async #forward(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const answer = (status: number, text: string): void => {
      if (response.headersSent) response.destroy();
      else response.writeHead(status, { 'Content-Type': 'text/plain', Connection: 'close' }).end(text);
    };
    const url = URL.parse(request.url ?? '');
    if (url === null || url.protocol !== 'http:' || url.username !== '')
      return answer(400, 'not a request to a proxy\n');
    const target = await this.#target(bare(url.hostname), Number(url.port || 80));
    if (typeof target === 'string') return answer(403, target);
    const headers: http.OutgoingHttpHeaders = { ...beyondTheHop(request.headers), host: url.host };
    const { method } = request;
    const path = `${url.pathname}${url.search}`;
    const upstream = http.request({ ...target, path, headers, agent: false, ...(method && { method }) });
    upstream.setTimeout(IDLE_MS, () => upstream.destroy(new Error('it does not answer')));
    upstream.on('error', (error) => answer(502, `${target.host}: ${error.message}\n`));
    upstream.on('response', (found) => {
      response.writeHead(found.statusCode ?? 502, beyondTheHop(found.headers));
      pipeline(found, atMost(), response, () => found.destroy());
    });
    response.on('close', () => upstream.destroy());
    pipeline(request, atMost(), upstream, () => {});
  }

  async #tunnel(request: http.IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const url = URL.parse(`http://${request.url ?? ''}`);
    const port = Number(/:(\d{1,5})$/.exec(request.url ?? '')?.[1]);
    socket.on('error', () => socket.destroy());
    if (url === null || !(port > 0) || url.username !== '' || url.pathname !== '/')
      return void socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
    const target = await this.#target(bare(url.hostname), port);
    if (typeof target === 'string') {
      const body = Buffer.from(target);
      socket.end(
        `HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${target}`,
      );
      return;
    }
    const upstream = connect({ ...target, allowHalfOpen: true });
    this.#bound(upstream);
    let connected = false;
    upstream.on('connect', () => {
      connected = true;
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      upstream.write(head);
      // Each way ends by itself: who has asked may still be told.
      pipeline(socket, atMost(), upstream, (error) => error && socket.destroy());
      pipeline(upstream, atMost(), socket, (error) => error && upstream.destroy());
    });
    upstream.on('error', () => {
      if (connected) socket.destroy();
      else socket.end('HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\n');
    });
    socket.on('close', () => upstream.destroy());
  }
}

/** An address of IPv6 stands in brackets in a URL. */
const bare = (hostname: string): string => hostname.replace(/^\[|\]$/g, '');

function atMost(): Transform {
  let left = MOST_BYTES;
  return new Transform({
    transform: (piece: Buffer, _encoding, done) => {
      left -= piece.length;
      if (left < 0) done(new Error('it is more than a container may send or get at once'));
      else done(null, piece);
    },
  });
}
