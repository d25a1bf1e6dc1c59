import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Token } from '../core/access-token.js';
import { HoldfastError } from '../core/errors/errors.js';
import type { EngineLog } from '../core/ops/log-record.js';
import type { Engine } from '../engine/engine.js';
import { createApp } from './app.js';
import { isLoopback } from './auth/host.js';
import { SignIns } from './auth/sign-ins.js';
import { TokenList } from './auth/tokens.js';
import { readConsole } from './console-files.js';
import { GUARDED_ROUTES, METRICS_ROUTES } from './routes.js';
import { limitBodies } from './wire/body-time.js';
import { boundPipelines, endable } from './wire/connections.js';
import { createLife } from './wire/life.js';
import { createSlots } from './wire/slots.js';

export interface HttpOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** As a function it is asked when the port is taken, so that no token is made in vain. */
  readonly tokens: readonly Token[] | (() => Promise<readonly Token[]>);
  /** Whether someone configured the tokens; one that was made at the first start is for this machine alone. */
  readonly tokensConfigured: boolean;
  readonly maxBodyBytes: number;
  /** Of a body that submits a task, and of a line of a batch. Default: `maxBodyBytes`. */
  readonly maxTaskBytes?: number;
  /** `metrics`: nothing but what Prometheus scrapes, and the probes. Default: all. */
  readonly serves?: 'all' | 'metrics';
  readonly log: EngineLog;
  /** Whether the console is served, and browsers may sign in. Default: yes. */
  readonly console?: boolean;
  /** Where browsers reach the server, if a proxy stands before it. Default: nowhere else. */
  readonly publicUrl?: string | null;
  /** How long a body may take to come, and of one that is read in lines each line. Default 60,000. */
  readonly bodyMs?: number;
  /** Between two signs of life of a quiet stream. Default 15,000. */
  readonly heartbeatMs?: number;
  /** How long a client of a stream may not read. Default 60,000. */
  readonly stallMs?: number;
}

export interface HttpServer {
  /** Without a slash at its end. */
  readonly url: string;
  readonly port: number;
  /** `/readyz` says 503 from now on; requests are still answered. */
  drain(): void;
  /** From now on these are the tokens: one that is gone is refused, and its streams and waits end. */
  setTokens(tokens: readonly Token[]): void;
  /** Takes no new connection, ends waits and streams, and cuts what is left after `graceMs` (default 10,000). */
  close(graceMs?: number): Promise<void>;
}

const STREAMS_PER_TOKEN = 64;

const LIMITS = {
  connectionsCheckingInterval: 5000,
  headersTimeout: 15_000,
  // See `limitBodies`.
  requestTimeout: 0,
  keepAliveTimeout: 10_000,
  maxHeaderSize: 16_384,
};

function listenError(error: unknown, { host, port, serves }: HttpOptions): HoldfastError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  const name = serves === 'metrics' ? 'HOLDFAST_METRICS_PORT' : 'HOLDFAST_PORT';
  if (code === 'EADDRINUSE')
    return new HoldfastError('port_in_use', `Port ${port} of ${host} is in use.`, {
      hint: `Stop the other process, or set ${name}.`,
    });
  const message = `HOLDFAST_HOST ${host} and ${name} ${port} cannot be listened on (${code}).`;
  return new HoldfastError('config_invalid', message, { cause: error });
}

async function listen(server: Server, options: HttpOptions): Promise<AddressInfo> {
  server.listen(options.port, options.host);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw listenError(error, options);
  }
  const address = server.address();
  if (address === null || typeof address === 'string') throw new HoldfastError('internal', 'No port was given.');
  return address;
}

const urlOf = (host: string, port: number): string => `http://${host.includes(':') ? `[${host}]` : host}:${port}`;

async function tokensOf({ tokens }: HttpOptions, end: (graceMs: number) => Promise<void>): Promise<readonly Token[]> {
  if (typeof tokens !== 'function') return tokens;
  try {
    return await tokens();
  } catch (error) {
    await end(0);
    throw error;
  }
}

/**
 * Listens. Throws `unsafe_bind` for an address beyond loopback without configured tokens, `port_in_use`, and
 * `config_invalid` for an address that this machine does not have.
 */
export async function createHttpServer(engine: Engine, options: HttpOptions): Promise<HttpServer> {
  if (!isLoopback(options.host) && !options.tokensConfigured) {
    throw new HoldfastError('unsafe_bind', `HOLDFAST_HOST is ${options.host}, which others can reach.`);
  }
  const life = createLife();
  const bodyMs = options.bodyMs ?? 60_000;
  let begin: (app: RequestListener) => void = () => {};
  const app = new Promise<RequestListener>((resolve) => {
    begin = resolve;
  });
  let handle: RequestListener = (request, response) => void app.then((ready) => ready(request, response));
  const server = createServer(
    LIMITS,
    boundPipelines((request, response) => handle(request, response)),
  );
  server.maxHeadersCount = 100;
  limitBodies(server, bodyMs);
  const end = endable(server);
  const { port } = await listen(server, options);
  const tokens = new TokenList(await tokensOf(options, end));
  const publicUrl = options.publicUrl == null ? null : new URL(options.publicUrl);
  const served =
    options.serves === 'metrics'
      ? { routes: METRICS_ROUTES, console: null }
      : { routes: GUARDED_ROUTES, console: options.console === false ? null : readConsole() };
  const context = {
    engine,
    life,
    callers: {
      tokens,
      signIns: new SignIns({ tokens, publicUrl, port, taken: served.console !== null }),
      onLoopback: isLoopback(options.host),
    },
    streams: createSlots(STREAMS_PER_TOKEN),
    log: options.log,
    maxBodyBytes: options.maxBodyBytes,
    maxTaskBytes: options.maxTaskBytes ?? options.maxBodyBytes,
    bodyMs,
    heartbeatMs: options.heartbeatMs ?? 15_000,
    stallMs: options.stallMs ?? 60_000,
  };
  handle = createApp(context, { boundHost: options.host, publicUrl }, served);
  begin(handle);

  server.on('error', (err) =>
    options.log.error({ component: 'http', event: 'server_trouble', err }, 'the server has trouble'),
  );
  return {
    url: urlOf(options.host, port),
    port,
    drain: () => life.drain(),
    setTokens: (list) => tokens.replace(list),
    async close(graceMs = 10_000) {
      life.end();
      await end(graceMs);
    },
  };
}
