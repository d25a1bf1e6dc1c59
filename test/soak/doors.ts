import { type Client, createClient } from '../../src/cli/client.js';
import { createHttpServer } from '../../src/http/server.js';
import {
  type Caller,
  createEngine,
  type DecisionRequest,
  type Engine,
  HoldfastError,
  type InterruptionView,
  type RunView,
  type StartRun,
} from '../../src/index.js';
import { agents } from './agents.js';

export const CALLER: Caller = { actor: 'ada', role: 'admin', tenant: 'default', installation: 'operator' };
const TOKEN = 'token-of-ada-0123456789';
const PENDING = { status: 'pending', limit: 100 } as const;

/** What the people of the soak do; the library and HTTP are two doors to the same. */
export interface Door {
  start(request: StartRun, key: string): Promise<RunView>;
  read(id: string, waitMs: number): Promise<RunView>;
  cancel(id: string): Promise<unknown>;
  pending(): Promise<readonly InterruptionView[]>;
  decide(id: string, decision: DecisionRequest): Promise<unknown>;
  emit(name: string, key: string): Promise<unknown>;
  /** How many events and deltas a stream gave until the run was over. */
  stream(id: string, signal: AbortSignal): Promise<number>;
}

const event = (key: string) => ({ key, payload: key, eventId: key });

async function count(items: AsyncIterable<unknown>): Promise<number> {
  let seen = 0;
  for await (const _ of items) seen++;
  return seen;
}

const byLibrary = (engine: Engine): Door => ({
  start: (request, key) => engine.startRun(request, CALLER, key),
  read: (id, waitMs) => engine.getRun(id, CALLER, { waitMs }),
  cancel: (id) => engine.cancelRun(id, 'the soak', CALLER),
  pending: async () => (await engine.listInterruptions(PENDING, CALLER)).items,
  decide: (id, decision) => engine.decide(id, decision, CALLER),
  emit: (name, key) => engine.emitEvent(name, event(key), CALLER),
  stream: (id, signal) => count(engine.streamRun(id, { after: 0, signal }, CALLER)),
});

const byHttp = (client: Client): Door => ({
  start: (request, key) => client.startRun(request, { key }),
  read: (id, waitMs) => client.getRun(id, { wait: waitMs / 1000 }),
  cancel: (id) => client.cancelRun(id, { reason: 'the soak' }),
  pending: async () => (await client.listInterruptions(PENDING)).items,
  decide: (id, decision) => client.decide(id, decision),
  emit: (name, key) => client.emitEvent(name, event(key)),
  stream: (id, signal) => count(client.streamRun(id, 0, signal)),
});

export interface Doors {
  readonly engine: Engine;
  readonly library: Door;
  readonly http: Door;
  close(): Promise<void>;
}

/** A process of the role `api`, which is this one. `onFatal` is told when it must not work on. */
export async function openDoors(
  databaseUrl: string,
  dataDir: string,
  onFatal: (error: HoldfastError) => void,
): Promise<Doors> {
  const quiet = (): void => {};
  const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
  const engine = await createEngine({ agents, databaseUrl, dataDir, role: 'api', workerId: 'api', log, onFatal });
  const tokens = [{ token: TOKEN, ...CALLER }];
  const server = await createHttpServer(engine, {
    ...{ host: '127.0.0.1', port: 0, tokens, tokensConfigured: true, maxBodyBytes: 1_000_000, console: false, log },
  });
  return {
    engine,
    library: byLibrary(engine),
    http: byHttp(createClient(server.url, TOKEN)),
    close: async () => {
      await server.close(1000);
      await engine.stop({ graceMs: 1000 });
    },
  };
}

/** Errors that say what is so; every other one says that the database or the server is away. */
const SAID = new Set([
  'run_over',
  'interruption_cancelled',
  'interruption_expired',
  'session_busy',
  'decision_conflict',
]);

/** The code of an error that trying again does not change; null: it may go well the next time. */
export const saidBy = (error: unknown): string | null =>
  error instanceof HoldfastError && SAID.has(error.code) ? error.code : null;
