import { join } from 'node:path';
import type { Knex } from 'knex';
import { afterEach, beforeEach } from 'vitest';
import { makeLogKey } from '../../src/engine/evidence/log-keys.js';
import { createEngine, type Engine, type EngineConfig } from '../../src/index.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { createEngineDatabase, type DatabaseKind, type TestDatabase } from './database.js';
import { echoAgent } from './echo-agent.js';

/** For each test of a suite an engine with a log key, which signs only when it is asked to. */
export function signedEngineFor(kind: DatabaseKind, config: EngineConfig = { agents: [echoAgent('one')] }) {
  let database: TestDatabase;
  let engine: Engine;
  const fileOf = (name: string) => join(database.options.dataDir, name);
  const open = async (): Promise<void> => {
    engine = await createEngine({
      ...{ workerId: 'test', ...config, evidence: { intervalMs: 3_600_000 }, ...database.options },
      signingKeyFile: fileOf('test-key'),
    });
  };
  const withDatabase = async <T>(act: (knex: Knex) => Promise<T>): Promise<T> => {
    const opened = await openDatabase(database.options);
    return act(opened.knex).finally(() => opened.close());
  };
  beforeEach(async () => {
    database = await createEngineDatabase(kind);
    makeLogKey(fileOf('test-key'), 'holdfast/test');
    await open();
  });
  afterEach(async () => {
    await engine.stop({ graceMs: 1000 });
    await database.drop();
  });
  return {
    get engine() {
      return engine;
    },
    fileOf,
    withDatabase,
    /** Stops the engine, lets something happen to its database, and starts another one. */
    between: async <T>(act: (knex: Knex) => Promise<T>): Promise<T> => {
      await engine.stop({ graceMs: 1000 });
      return withDatabase(act).finally(open);
    },
  };
}
