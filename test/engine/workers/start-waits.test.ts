import { Agent } from '@openai/agents';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createEngine, type Engine, type EngineConfig } from '../../../src/index.js';
import { createEngineDatabase, describePostgres, type TestDatabase } from '../../harness/database.js';
import { runToRest } from '../../harness/engine.js';
import { say, scripted } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';
import { type Network, openNetwork } from '../../workers/proxy.js';

describePostgres('a process that starts', () => {
  let database: TestDatabase;
  let network: Network;
  let config: EngineConfig;
  const said: string[] = [];
  const quiet = (): void => {};
  const warn = (fields: object): void => void said.push(String((fields as { event?: unknown }).event));
  beforeEach(async () => {
    said.length = 0;
    database = await createEngineDatabase('postgres');
    network = await openNetwork(database.options.databaseUrl ?? '');
    const agents = [new Agent({ name: 'plain', model: scripted([[say('done')]]) })];
    const log = { debug: quiet, info: quiet, warn, error: quiet };
    config = { ...database.options, databaseUrl: network.url, agents, workerId: 'north', log };
  });
  afterEach(async () => {
    await network.close();
    await database.drop();
  });

  /** An engine that starts says that it waits, and works when the network is whole again. */
  async function waitsAndWorks(starting: Promise<Engine>, told = {}): Promise<void> {
    starting.catch(quiet);
    await expect.poll(() => said, told).toContain('start_waits');
    network.heal();
    const engine = await starting;
    expect(await runToRest(engine, 'plain')).toMatchObject({ status: 'completed' });
    await engine.stop({ graceMs: 500 });
  }

  it('while PostgreSQL is away says so, waits, and works when it is back', async () => {
    network.cut();
    await waitsAndWorks(createEngine(config));
  });

  /** As DBOS says them. */
  const moments = ['Initializing DBOS', 'Recovering workflows', 'DBOS launched', 'Queue: holdfast.segments'];
  it.each(moments)('does so when PostgreSQL goes away at: %s', async (moment) => {
    let isCut = false;
    const hear = (fields: object): void => {
      const { entry } = fields as { readonly entry?: unknown };
      if (isCut || !String(entry).includes(moment)) return;
      isCut = true;
      network.cut();
    };
    await waitsAndWorks(createEngine({ ...config, log: { debug: hear, info: hear, warn, error: warn } }));
  });

  const QUIET = { timeout: 180_000 };
  /** Until a connection counts as one that says nothing: fifteen seconds, and ten for the one beside it. */
  const TOLD = { timeout: 90_000 };
  it.runIf(SLOW)('while PostgreSQL takes connections and says nothing waits as well', QUIET, async () => {
    network.freeze(true);
    await waitsAndWorks(createEngine(config), TOLD);
  });

  it.runIf(SLOW).each(moments)('does so when PostgreSQL falls silent at: %s', QUIET, async (moment) => {
    let isSilent = false;
    const hear = (fields: object): void => {
      const { entry } = fields as { readonly entry?: unknown };
      if (isSilent || !String(entry).includes(moment)) return;
      isSilent = true;
      network.freeze(true);
    };
    await waitsAndWorks(createEngine({ ...config, log: { debug: hear, info: hear, warn, error: warn } }), TOLD);
  });

  it('waits for no longer than it is told, and ends by name', async () => {
    network.cut();
    await expect(createEngine({ ...config, startWaitMs: 0 })).rejects.toMatchObject({ code: 'database_unreachable' });
    expect(said).not.toContain('start_waits');
    network.heal();
    // What does not pass is not waited for.
    const url = Object.assign(new URL(database.options.databaseUrl ?? ''), { username: 'nobody_of_this_name' });
    await expect(createEngine({ ...config, databaseUrl: url.href })).rejects.toMatchObject({
      code: 'database_unreachable',
    });
    expect(said).not.toContain('start_waits');
  });
});
