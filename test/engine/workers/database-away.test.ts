import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from '@openai/agents';
import type pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, it, onTestFinished } from 'vitest';
import { createEngine, defineAgent, type Engine, HoldfastError } from '../../../src/index.js';
import { databaseTrouble } from '../../../src/storage/database/database-trouble.js';
import { SilentConnections } from '../../../src/storage/database/silent-connections.js';
import {
  createEngineDatabase,
  describeEachDatabase,
  describePostgres,
  onServer,
  type TestDatabase,
} from '../../harness/database.js';
import { ADMIN } from '../../harness/engine.js';
import { scripted } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';
import { type Network, openNetwork } from '../../workers/proxy.js';

const agents = [defineAgent({ agent: new Agent({ name: 'one', model: scripted([]) }) })];
const RUN = 'run_0123456789abcdef0123456789abcdef';

const { signal } = new AbortController();
const firstOf = async (stream: AsyncIterable<unknown>): Promise<unknown> => {
  for await (const one of stream) return one;
  return undefined;
};
const VERBS: Readonly<Record<string, (engine: Engine) => Promise<unknown>>> = {
  startRun: (engine) => engine.startRun({ agent: 'one', input: 'go' }, ADMIN),
  getRun: (engine) => engine.getRun(RUN, ADMIN, {}),
  listRuns: (engine) => engine.listRuns({ limit: 1 }, ADMIN),
  listEvents: (engine) => engine.listEvents(RUN, { after: 0, limit: 1 }, ADMIN),
  decide: (engine) => engine.decide('int_0123456789abcdef0123456789abcdef', { verdict: 'approve' }, ADMIN),
  verifyRun: (engine) => engine.verifyRun(RUN, ADMIN),
  listWorkers: (engine) => engine.listWorkers({ limit: 1 }),
  stats: (engine) => engine.stats(ADMIN),
  streamEvents: (engine) => firstOf(engine.streamEvents(RUN, { after: 0, signal }, ADMIN)),
  streamSystemEvents: (engine) => firstOf(engine.streamSystemEvents({ after: 0, signal }, ADMIN)),
  openSession: (engine) => engine.openSession('talk', ADMIN).getItems(),
};

const thrownBy = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'nothing',
    (error: unknown) => error,
  );
/** Each verb, with what it threw. */
async function thrown(engine: Engine): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const [name, verb] of Object.entries(VERBS)) found[name] = await thrownBy(verb(engine));
  return found;
}
const unreachable = (hint: string) =>
  Object.fromEntries(
    Object.keys(VERBS).map((name) => [
      name,
      expect.objectContaining({ code: 'database_unreachable', status: 503, hint: expect.stringContaining(hint) }),
    ]),
  );

describePostgres('the verbs of the library while the database', () => {
  const role = `holdfast_test_${randomBytes(6).toString('hex')}`;
  let database: TestDatabase;
  let network: Network;
  let engine: Engine;
  let lines: { readonly level: string; readonly name: string }[] = [];
  const hear =
    (level: string) =>
    ({ component, event }: { readonly component: string; readonly event: string }): void =>
      void lines.push({ level, name: `${component} ${event}` });
  beforeAll(async () => {
    database = await createEngineDatabase('postgres');
    await onServer(`create role ${role} login superuser`);
    const url = Object.assign(new URL(database.options.databaseUrl ?? ''), { username: role });
    network = await openNetwork(url.href);
    engine = await createEngine({
      agents,
      databaseUrl: network.url,
      dataDir: database.options.dataDir,
      workerId: 'test',
      log: { debug: hear('debug'), info: hear('info'), warn: hear('warn'), error: hear('error') },
    });
  });
  afterEach(async () => {
    await onServer(`alter role ${role} login`);
    network.heal();
    await expect.poll(() => thrownBy(engine.listRuns({ limit: 1 }, ADMIN))).toBe('nothing');
  });
  afterAll(async () => {
    await engine.stop({ graceMs: 0 });
    await network.close();
    await database.drop();
    await onServer(`drop role ${role}`);
  });

  it('does not let its user in any more say so, and how to go on', async () => {
    await onServer(`alter role ${role} nologin`);
    await onServer(`select pg_terminate_backend(pid) from pg_stat_activity where usename = '${role}'`);
    // A connection that was at rest hears first that it was ended.
    let found: Record<string, unknown> = {};
    await expect
      .poll(async () => {
        found = await thrown(engine);
        return found;
      })
      .toEqual(unreachable('correct DATABASE_URL'));
    for (const error of Object.values(found)) expect(error).toBeInstanceOf(HoldfastError);
  });

  it('is away throw nothing of its driver', async () => {
    network.cut();
    expect(await thrown(engine)).toEqual(unreachable('Check DATABASE_URL'));
  });

  it('is away are told of by one line, and no other work that is tried again warns', async () => {
    const at = (...levels: string[]) =>
      [...new Set(lines.flatMap(({ level, name }) => (levels.includes(level) ? name : [])))].toSorted();
    lines = [];
    network.cut();
    const tried = ['dbos said', 'retention retention_failed', 'system_events not_told'];
    await expect.poll(() => at('debug', 'warn', 'error'), { timeout: 30_000 }).toEqual(expect.arrayContaining(tried));
    expect(at('debug')).toEqual(expect.arrayContaining([...tried, 'worker beat_failed']));
    const told = ['database database_away', 'worker lock_lost'];
    expect(at('warn', 'error').filter((name) => !told.includes(name))).toEqual([]);
  });
});

describePostgres('a connection that gives no answer', () => {
  let database: TestDatabase;
  let network: Network;
  let url: string;
  beforeAll(async () => {
    database = await createEngineDatabase('postgres');
    network = await openNetwork(database.options.databaseUrl ?? '');
    url = network.url;
  });
  afterAll(async () => {
    await network.close();
    await database.drop();
  });
  /** A connection that is watched with little patience. */
  async function watched(): Promise<pg.Client> {
    const { Client } = new SilentConnections(url, 'watched', { lookEveryMs: 50, askWithinMs: 500 });
    const client = new Client({ connectionString: url, application_name: 'watched' });
    client.on('error', () => {});
    await client.connect();
    await client.query('select 1');
    return client;
  }

  it.each([
    ['nor does a new one', true],
    ['while the server waits for its next statement', false],
  ])('is ended: %s', async (_why, all) => {
    const client = await watched();
    network.freeze(all);
    const error = await thrownBy(client.query('select 2'));
    expect(databaseTrouble(error)).toBe('away');
    network.heal();
  });

  it('but works on its statement goes on', async () => {
    const client = await watched();
    const { rows } = await client.query('select pg_sleep(1.5), 3 as three');
    expect(rows).toMatchObject([{ three: 3 }]);
    await client.end();
  });

  it('fails the verbs that wait for it', async () => {
    const engine = await createEngine({ agents, databaseUrl: url, dataDir: database.options.dataDir, workerId: 'one' });
    onTestFinished(() => engine.stop({ graceMs: 0 }));
    network.freeze(true);
    expect(await thrownBy(engine.listRuns({ limit: 1 }, ADMIN))).toMatchObject({ code: 'database_unreachable' });
    network.heal();
    await expect.poll(() => thrownBy(engine.listRuns({ limit: 1 }, ADMIN))).toBe('nothing');
    await engine.stop({ graceMs: 0 });
  });
});

describeEachDatabase('an engine that fails after it began to beat', (kind) => {
  it.runIf(SLOW)('leaves nothing at work, and the next one starts', async () => {
    const database = await createEngineDatabase(kind);
    const said: string[] = [];
    const hear = ({ event }: { readonly event: string }): void => void said.push(event);
    const info = ({ event }: { readonly event: string }): void => {
      hear({ event });
      if (event === 'started') throw new Error('the log is full');
    };
    const config = { agents, ...database.options, workerId: 'test' };
    const log = { debug: () => {}, info, warn: hear, error: hear };
    await expect(createEngine({ ...config, log })).rejects.toThrow('the log is full');
    // Longer than two beats.
    await sleep(2500);
    expect(said.filter((event) => event !== 'started')).toEqual([]);
    const next = await createEngine(config);
    onTestFinished(() => next.stop({ graceMs: 0 }));
    expect(await next.isReady()).toBe(true);
    await next.stop();
    await database.drop();
  });
});
