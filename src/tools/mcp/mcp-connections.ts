import type { Readable } from 'node:stream';
import type { MCPServer } from '@openai/agents';
import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import { EffectUnknown } from '../../core/runs/call.js';
import { type McpDefinition, parseDefinitions, serverLabel } from '../../core/tools/mcp.js';
import { boundedLines } from '../define/bounded-lines.js';

/** The connection to one server. `generation` rises when it is made again, so that many who miss it make one. */
interface Connection {
  generation: number;
  connecting: Promise<void> | null;
  inFlight: number;
  ours: boolean;
}

interface CallTerms {
  readonly repeatable: boolean;
  readonly signal: AbortSignal;
  readonly ready: () => Promise<void>;
}

const CLOSE_MS = 3000;

/**
 * The connections of this process to servers of the Model Context Protocol. They are made when they are needed, shared by
 * all runs, made again when they are lost, and closed with the engine. A server that the user has connected is used as it is.
 */
export class McpConnections {
  readonly #connections = new Map<MCPServer, Connection>();
  readonly #say: ((server: string, line: string) => void) | null;
  readonly #meet: (server: MCPServer) => void;

  /**
   * `say` hears what servers over stdio write to their standard error; null: it is that of this process. `meet` hears of each server
   * before it is reached: one of an agent behind a tool is found no sooner.
   */
  constructor(
    say: ((server: string, line: string) => void) | null = null,
    meet: (server: MCPServer) => void = () => undefined,
  ) {
    this.#say = say;
    this.#meet = meet;
  }

  /** What a server offers now; connects if that is needed. Throws `mcp_unreachable` or `mcp_list_invalid`. */
  async list(server: MCPServer): Promise<McpDefinition[]> {
    const connection = this.#of(server);
    const { generation } = connection;
    let listed: readonly unknown[];
    try {
      await connection.connecting;
      listed = await server.listTools();
    } catch (error) {
      // An answer that says no, or none in time, is no lost connection; a new one would not help.
      if (isAnswer(error) || codeOf(error) === 'REQUEST_TIMEOUT') throw unreachable(server, error);
      listed = await this.#listAnew(server, connection, generation, error);
    }
    return parseDefinitions(serverLabel(server.name), listed);
  }

  /**
   * Sends a call, a second time where its connection was lost and that does no harm. Throws what the server answered,
   * `mcp_unreachable` when nothing has happened or may be done again, and `EffectUnknown` when the call was sent, may not be
   * repeated, and its answer was lost. `ready` lists the tools before each time that it is sent, and throws where it must not be: a
   * server that was reached again may be another one.
   */
  async call<T>(server: MCPServer, { repeatable, signal, ready }: CallTerms, send: () => Promise<T>): Promise<T> {
    await ready();
    const harmless = (error: unknown): boolean => repeatable || isUnsent(error);
    try {
      return await this.#counted(server, send);
    } catch (error) {
      if (isAnswer(error) || signal.aborted) throw error;
      if (!harmless(error)) throw new EffectUnknown({ cause: error });
    }
    await ready();
    try {
      return await this.#counted(server, send);
    } catch (error) {
      if (isAnswer(error) || signal.aborted) throw error;
      throw harmless(error) ? unreachable(server, error) : new EffectUnknown({ cause: error });
    }
  }

  /** Closes what was connected here, and forgets the rest. */
  async close(): Promise<void> {
    const ours = [...this.#connections].flatMap(([server, { ours }]) => (ours ? [server] : []));
    this.#connections.clear();
    await Promise.all(ours.map(closeQuietly));
  }

  #of(server: MCPServer): Connection {
    const known = this.#connections.get(server);
    if (known !== undefined) return known;
    this.#meet(server);
    const say = this.#say;
    if (say !== null) hearStderr(server, (line) => say(serverLabel(server.name), line));
    const connection: Connection = { generation: 0, connecting: null, inFlight: 0, ours: false };
    this.#connections.set(server, connection);
    return connection;
  }

  async #counted<T>(server: MCPServer, send: () => Promise<T>): Promise<T> {
    const connection = this.#of(server);
    connection.inFlight++;
    try {
      return await send();
    } finally {
      connection.inFlight--;
    }
  }

  async #listAnew(
    server: MCPServer,
    connection: Connection,
    generation: number,
    error: unknown,
  ): Promise<readonly unknown[]> {
    try {
      if (connection.generation === generation) {
        // Making it again would end the calls of others, unless the connection is gone for them too.
        if (connection.inFlight > 0 && !isGone(error)) throw error;
        connection.generation++;
        connection.connecting = connectAnew(server);
        connection.ours = true;
      }
      await connection.connecting;
      return await server.listTools();
    } catch (again) {
      throw unreachable(server, again);
    }
  }
}

async function connectAnew(server: MCPServer): Promise<void> {
  await closeQuietly(server);
  await server.connect();
}

/** A server that does not let go is left behind: what is not connected has nothing to close. */
async function closeQuietly(server: MCPServer): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, CLOSE_MS);
  });
  await Promise.race([server.close().catch(() => undefined), late]);
  clearTimeout(timer);
}

const unreachable = (server: MCPServer, cause: unknown): HoldfastError => {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new HoldfastError('mcp_unreachable', `The MCP server ${serverLabel(server.name)} cannot be reached: ${why}`, {
    cause,
  });
};

const codeOf = (error: unknown): unknown => (error as { code?: unknown } | null)?.code;

/** A JSON-RPC error, or a result that breaks the protocol, is the server's word: the call has ended. */
const isAnswer = (error: unknown): boolean =>
  error instanceof Error &&
  ((error.name === 'ProtocolError' && typeof codeOf(error) === 'number') || codeOf(error) === 'INVALID_RESULT');

/** The client had no connection, so that nothing left this process. */
const isUnsent = (error: unknown): boolean => codeOf(error) === 'NOT_CONNECTED' || causeCode(error) === 'ECONNREFUSED';

const isGone = (error: unknown): boolean => isUnsent(error) || codeOf(error) === 'CONNECTION_CLOSED';

const causeCode = (error: unknown): unknown => codeOf((error as { cause?: unknown } | null)?.cause);

/**
 * Uses private parts of the Agents SDK 0.x and of the client of the Model Context Protocol: a server over stdio would write its
 * standard error into that of this process, between whatever is there. Where a part is missing, it does so.
 */
const overStdio = z.object({ params: z.object({ command: z.string() }), transport: z.unknown() });
const unstarted = z.object({ _serverParams: z.object({ stderr: z.undefined().optional() }), start: z.function() });

interface Transport {
  readonly _serverParams: { stderr?: 'pipe' };
  start: () => Promise<void>;
  readonly stderr: Readable | null;
}

const heard = new WeakSet<object>();

/** From its next connection on, each line that a server over stdio writes to its standard error goes to `say`. */
function hearStderr(server: MCPServer, say: (line: string) => void): void {
  const inner: unknown = Reflect.get(server, 'underlying');
  if (typeof inner !== 'object' || inner === null || heard.has(inner) || !overStdio.safeParse(inner).success) return;
  heard.add(inner);
  let transport: unknown = Reflect.get(inner, 'transport');
  Object.defineProperty(inner, 'transport', {
    configurable: true,
    enumerable: true,
    get: () => transport,
    set: (made: unknown) => {
      transport = made;
      if (unstarted.safeParse(made).success) pipe(made as Transport, say);
    },
  });
}

function pipe(transport: Transport, say: (line: string) => void): void {
  const { start } = transport;
  transport._serverParams.stderr = 'pipe';
  transport.start = async () => {
    await start.call(transport);
    const take = boundedLines(say);
    transport.stderr?.setEncoding('utf8').on('data', take);
    transport.stderr?.on('end', () => take('\n'));
  };
}
