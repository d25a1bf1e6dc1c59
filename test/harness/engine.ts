import { afterAll, beforeAll } from 'vitest';
import { type Caller, createEngine, type Engine, type EngineConfig, type RunEvent } from '../../src/index.js';
import type { Database } from '../../src/storage/database/database.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { createEngineDatabase, type DatabaseKind } from './database.js';

export const ADMIN: Caller = { actor: 'ada', role: 'admin', tenant: 'default', installation: 'operator' };
export const BOB: Caller = { actor: 'bob', role: 'approver', tenant: 'default' };

export interface TestEngine {
  readonly engine: Engine;
  /** Stops the engine and starts another one on the same database. */
  restart(changes?: Partial<EngineConfig>): Promise<Engine>;
  /** Stops the engine, lets something happen to its database, and starts another one. */
  between<T>(work: (knex: Database['knex']) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** A real engine on a fresh database of a kind. */
export async function openTestEngine(kind: DatabaseKind, config: EngineConfig): Promise<TestEngine> {
  const database = await createEngineDatabase(kind);
  const start = (changes: Partial<EngineConfig> = {}) =>
    createEngine({
      workerId: 'test',
      ...config,
      ...changes,
      databaseUrl: database.options.databaseUrl,
      dataDir: database.options.dataDir,
    });
  let engine = await start();
  return {
    get engine() {
      return engine;
    },
    restart: async (changes) => {
      await engine.stop({ graceMs: 1000 });
      engine = await start(changes);
      return engine;
    },
    between: async (work) => {
      await engine.stop({ graceMs: 1000 });
      const opened = await openDatabase(database.options);
      try {
        return await work(opened.knex);
      } finally {
        await opened.close();
        engine = await start();
      }
    },
    close: async () => {
      await engine.stop({ graceMs: 1000 });
      await database.drop();
    },
  };
}

/** The engine of the tests of a suite, from before the first one to after the last one. */
export function engineFor(kind: DatabaseKind, config: EngineConfig): Omit<TestEngine, 'close'> {
  let opened: TestEngine;
  beforeAll(async () => {
    opened = await openTestEngine(kind, config);
  });
  afterAll(() => opened.close());
  return {
    get engine() {
      return opened.engine;
    },
    restart: (changes) => opened.restart(changes),
    between: (work) => opened.between(work),
  };
}

/** Waits until a run is paused or over. */
export const restOf = (engine: Engine, runId: string, caller: Caller = ADMIN) =>
  engine.getRun(runId, caller, { waitMs: 20_000 });

/** Starts a run and waits until it is paused or over. */
export async function runToRest(engine: Engine, agent: string, input = 'go', caller: Caller = ADMIN) {
  const { id } = await engine.startRun({ agent, input }, caller);
  return restOf(engine, id, caller);
}

/** What waits for a decision about a call of a tool. */
export async function pendingOf(engine: Engine, runId: string, tool: string) {
  const { items } = await engine.listInterruptions({ status: 'pending', runId, limit: 10 }, BOB);
  return items.find((item) => item.tool === tool);
}

/** Decides the only pending interruption of a run and waits for its next rest. */
export async function decideAndRest(
  engine: Engine,
  runId: string,
  decision: Parameters<Engine['decide']>[1],
  caller: Caller = BOB,
) {
  const { items } = await engine.listInterruptions({ status: 'pending', runId, limit: 10 }, caller);
  const [only] = items;
  if (only === undefined || items.length > 1)
    throw new Error(`expected one pending interruption, found ${items.length}`);
  await engine.decide(only.id, decision, caller);
  return restOf(engine, runId, caller);
}

/** The log of a run, or what of it is of a kind. */
export async function eventsOf(engine: Engine, runId: string, kind?: string): Promise<readonly RunEvent[]> {
  const { items } = await engine.listEvents(runId, { after: 0, limit: 1000 }, ADMIN);
  return kind === undefined ? items : items.filter((event) => event.kind === kind);
}

/** What the events of a kind say, in their order. */
export const dataOf = async (engine: Engine, runId: string, kind: string): Promise<Record<string, unknown>[]> =>
  (await eventsOf(engine, runId, kind)).map(({ data }) => data as Record<string, unknown>);

export const kindsOf = async (engine: Engine, runId: string): Promise<string[]> =>
  (await eventsOf(engine, runId)).map((event) => event.kind);
