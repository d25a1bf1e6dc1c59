import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from '@openai/agents';
import pg from 'pg';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { LogFields } from '../../../src/core/ops/log-record.js';
import { createEngine, defineAgent, type Engine, type EngineConfig } from '../../../src/index.js';
import { createEngineDatabase, describePostgres, type TestDatabase } from '../../harness/database.js';
import { ADMIN, restOf } from '../../harness/engine.js';
import { say, scripted } from '../../harness/script.js';
import { type Network, openNetwork } from '../../workers/proxy.js';

const HOUR_MS = 3_600_000;
/** The wait for a lock looks again every tenth of a second. */
const SOME_LOOKS_MS = 1_500;
/** The name of the session of a client; pools connect again for reasons of their own. */
const nameOf = (client: pg.Client): string => {
  const { application_name: name } = Reflect.get(client, 'connectionParameters') as { application_name?: string };
  return name ?? '';
};

describePostgres('a worker whose lock was lost while the database was away', () => {
  let database: TestDatabase;
  let network: Network;
  let engine: Engine;
  let logged: LogFields[];
  const fatal = vi.fn();
  beforeEach(async () => {
    database = await createEngineDatabase('postgres');
    network = await openNetwork(database.options.databaseUrl ?? '');
    logged = [];
    fatal.mockClear();
    engine = await createEngine({ ...config(), log: { debug: hear, info: hear, warn: hear, error: hear } });
    network.cut();
    while (!logged.some(({ event }) => event === 'lock_lost')) await sleep(20);
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    network.heal();
    await engine.stop({ graceMs: 0 });
    await network.close();
    await database.drop();
  });
  const hear = (fields: LogFields): void => void logged.push(fields);
  const config = (): EngineConfig => ({
    agents: [defineAgent({ agent: new Agent({ name: 'one', model: scripted([[say('done')]]) }) })],
    databaseUrl: network.url,
    dataDir: database.options.dataDir,
    workerId: 'test',
    onFatal: fatal,
  });

  it('takes it again however long the database was away', { timeout: 60_000 }, async () => {
    const now = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => now() + HOUR_MS);
    await sleep(SOME_LOOKS_MS);
    network.heal();
    await sleep(SOME_LOOKS_MS);
    expect(fatal).not.toHaveBeenCalled();
    const { id } = await engine.startRun({ agent: 'one', input: 'go' }, ADMIN);
    expect((await restOf(engine, id)).status).toBe('completed');
  });

  it('looks for it no more after its engine was stopped', { timeout: 60_000 }, async () => {
    await engine.stop({ graceMs: 0 });
    network.heal();
    const connect = vi.spyOn(pg.Client.prototype, 'connect');
    await sleep(SOME_LOOKS_MS);
    expect(
      connect.mock.contexts
        .map((client) => nameOf(client as pg.Client))
        .filter((name) => name.startsWith('holdfast:lock:')),
    ).toEqual([]);
    engine = await createEngine(config());
    expect((await engine.getWorker('test')).epoch).toBe(2);
  });
});
