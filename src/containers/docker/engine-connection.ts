import { readFileSync } from 'node:fs';
import type { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Docker from 'dockerode';
import { checkedPlace, type EngineAddress } from '../../core/containers/engine-address.js';
import { codeOrText, HoldfastError } from '../../core/errors/errors.js';
import { SshAgent } from './ssh-agent.js';

const PLAIN_PORT = 2375;
const TLS_PORT = 2376;

/** The declarations of the client leave out the agent, which it passes on to each request. */
type EngineOptions = Docker.DockerOptions & { readonly agent?: Agent };

/** How the client connects to an engine. Throws `config_invalid` for an address that cannot be used, and `secret_unreadable` for certificates. */
function engineOptions(address: EngineAddress): EngineOptions {
  const place = checkedPlace(address);
  if (place.type === 'socket') return { socketPath: place.path };
  // The agent connects; the host only stands in the request.
  if (place.type === 'ssh') return { protocol: 'http', host: 'docker', port: PLAIN_PORT, agent: new SshAgent(place) };
  const { host, port } = place;
  if (address.certPath === null) return { protocol: 'http', host, port: port ?? PLAIN_PORT };
  const [ca, cert, key] = ['ca.pem', 'cert.pem', 'key.pem'].map((name) => read(join(address.certPath ?? '', name)));
  return { protocol: 'https', host, port: port ?? TLS_PORT, ca, cert, key };
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const why = codeOrText(cause);
    throw new HoldfastError('secret_unreadable', `The certificate ${path} of the container engine: ${why}.`, {
      hint: 'DOCKER_CERT_PATH names a folder with ca.pem, cert.pem and key.pem.',
      cause,
    });
  }
}

/** A request that is no stream is answered within this, or the engine counts as away. */
const ANSWER_WITHIN_MS = 60_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2000;

/** What an engine answered in place of what it was asked for. */
export class EngineRefusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = 'EngineRefusal';
    this.status = status;
  }
}

/**
 * The stream of a program in a container ended before its end was known. An engine that comes back after a crash does this for some
 * seconds, so it is asked again for longer than after another refusal.
 */
export class StreamCut extends EngineRefusal {
  constructor() {
    super(0, 'its stream was cut');
    this.name = 'StreamCut';
  }
}

/** A connection to an engine that speaks Docker's API, over a socket of this machine, TCP, TLS or SSH. */
export class EngineConnection {
  readonly docker: Docker;
  readonly #host: string;
  readonly #patienceMs: number;
  readonly #agent: Agent | null;

  /**
   * `patienceMs`: for so long an engine that is away is waited for. Throws `config_invalid` for an address that cannot be used, and
   * `secret_unreadable` for certificates.
   */
  constructor(address: EngineAddress, patienceMs: number) {
    this.#host = address.host;
    this.#patienceMs = patienceMs;
    const options = engineOptions(address);
    this.#agent = options.agent ?? null;
    this.docker = new Docker(options);
  }

  /** Ends the connections that wait for a further request. */
  close(): void {
    this.#agent?.destroy();
  }

  /**
   * Asks the engine, and again while it is away: whatever is asked here may be asked twice. Throws EngineRefusal for what it
   * refuses and `engine_unreachable` when it stays away. `withinMs`: an answer that comes later is none.
   */
  async ask<T>(
    what: string,
    signal: AbortSignal,
    request: (docker: Docker) => Promise<T>,
    withinMs = ANSWER_WITHIN_MS,
  ): Promise<T> {
    const until = performance.now() + this.#patienceMs;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      signal.throwIfAborted();
      try {
        return await withinTime(request(this.docker), withinMs, signal);
      } catch (error) {
        const refusal = refusalOf(error);
        if (refusal !== null) throw refusal;
        signal.throwIfAborted();
        if (!isAway(error)) throw error;
        if (performance.now() + pauseMs > until) throw this.away(what, error);
        await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  away(what: string, cause: unknown): HoldfastError {
    const why = (cause instanceof Error ? cause.message : String(cause)).trim().replace(/\.$/, '');
    const isForbidden = /\bE(ACCES|PERM)\b/.test(why);
    return new HoldfastError('engine_unreachable', `${what}: the engine at ${this.#host} does not answer (${why}).`, {
      ...(isForbidden && {
        hint: 'Let the user that the worker runs as open the socket: add it to the group of the socket.',
      }),
      cause,
    });
  }
}

/** A request whose answer never comes would be waited for forever. */
async function withinTime<T>(request: Promise<T>, withinMs: number, signal: AbortSignal): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let onAbort: (() => void) | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new NoAnswer(withinMs)), withinMs);
    onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort);
  });
  try {
    return await Promise.race([request, over]);
  } finally {
    clearTimeout(timer);
    if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
  }
}

class NoAnswer extends Error {
  readonly code = 'ETIMEDOUT';

  constructor(withinMs: number) {
    super(`no answer within ${withinMs} ms`);
    this.name = 'NoAnswer';
  }
}

/** Codes of Node that begin as those of wrong arguments do, and are of connections. */
const OF_CONNECTIONS = /^ERR_(TLS|SSL|STREAM_PREMATURE_CLOSE|SOCKET_CLOSED)/;

/**
 * Whether an error is one of an engine that cannot be reached, and not its answer: of the system, of TLS, of a certificate, or of what is
 * no HTTP. Their codes are too many to be listed.
 */
export function isAway(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof HoldfastError || error instanceof TypeError) return false;
  if (/socket hang up|aborted/.test(error.message)) return true;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return code.startsWith('ERR_') ? OF_CONNECTIONS.test(code) : code !== '' && code !== 'ABORT_ERR';
}

/** Does something with an engine, and names what it refuses: an error without a name would be told to the model of the run. */
export async function named<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof EngineRefusal)) throw error;
    const why = error.message.trim().toWellFormed();
    throw new HoldfastError('environment_failed', `The container engine refuses it: ${why}.`, { cause: error });
  }
}

function refusalOf(error: unknown): EngineRefusal | null {
  if (error instanceof EngineRefusal) return error;
  if (!(error instanceof Error) || !('statusCode' in error) || typeof error.statusCode !== 'number') return null;
  const said = 'json' in error ? wordOf(error.json) : null;
  return new EngineRefusal(error.statusCode, said ?? error.message.replace(/^\(HTTP code \d+\) [^-]*- /, '').trim());
}

const wordOf = (answer: unknown): string | null => {
  const message: unknown = Reflect.get(Object(answer), 'message');
  return typeof message === 'string' && message !== '' ? message : null;
};

export const isRefusal = (error: unknown, ...statuses: readonly number[]): error is EngineRefusal =>
  error instanceof EngineRefusal && statuses.includes(error.status);
