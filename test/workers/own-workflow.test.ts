import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DBOS } from '@dbos-inc/dbos-sdk';
import { Agent } from '@openai/agents';
import { expect, it, onTestFinished } from 'vitest';
import { createEngine, defineAgent, type EngineConfig } from '../../src/index.js';
import { createEngineDatabase, describeBothDatabasesSlowly, describePostgres } from '../harness/database.js';
import { runToRest } from '../harness/engine.js';
import { say, scripted } from '../harness/script.js';
import { WorkerProcess } from './worker-process.js';

const PROGRAM = join(import.meta.dirname, '../../dist/programs/test/workers/own-workflow-worker.js');
const agents = [defineAgent({ agent: new Agent({ name: 'one', model: scripted([[say('done')]]) }) })];

describeBothDatabasesSlowly('a process with workflows of its own', (kind) => {
  it('that registers them before it makes the engine recovers both after it died', async () => {
    const { options, drop } = await createEngineDatabase(kind);
    const ledger = join(options.dataDir, 'ledger');
    const life = (n: number): WorkerProcess => {
      const url = options.databaseUrl === null ? {} : { DATABASE_URL: options.databaseUrl };
      return new WorkerProcess({ ...url, HOLDFAST_DATA_DIR: options.dataDir, LEDGER: ledger, LIFE: String(n) }, [
        PROGRAM,
      ]);
    };
    const first = life(1);
    await Promise.all([first.says('the run stands'), first.says('the workflow stands')]);
    first.kill('SIGKILL');
    await first.ended;
    const second = life(2);
    await second.says('stopped');
    expect(await second.ended).toBe(0);
    expect(second.said).toContain('"run":"completed"');
    expect(second.said).toContain('the run ended in life 2');
    expect(second.said).toContain('"workflow":"the workflow ended in life 2"');
    const lines = readFileSync(ledger, 'utf8').trim().split('\n');
    expect(lines.filter((line) => line === 'the first step of the workflow')).toHaveLength(1);
    await drop();
  });

  it('has one engine: a second one is refused, and the first works on', async () => {
    const { options, drop } = await createEngineDatabase(kind);
    const config: EngineConfig = { agents, ...options, workerId: 'test' };
    const ended = await Promise.allSettled([createEngine(config), createEngine(config)]);
    expect(ended).toMatchObject([{ status: 'fulfilled' }, { status: 'rejected', reason: { code: 'engine_started' } }]);
    await expect(createEngine(config)).rejects.toMatchObject({ code: 'engine_started' });
    const [{ value: engine }] = ended as [PromiseFulfilledResult<Awaited<ReturnType<typeof createEngine>>>, unknown];
    expect(await runToRest(engine, 'one')).toMatchObject({ status: 'completed' });
    await engine.stop();
    const next = await createEngine(config);
    onTestFinished(() => next.stop({ graceMs: 0 }));
    expect(await runToRest(next, 'one')).toMatchObject({ status: 'completed' });
    await next.stop();
    await drop();
  });
});

describePostgres('an engine beside a DBOS that the program has launched', () => {
  it('is refused, and that DBOS goes on; after its end the engine starts', async () => {
    const { options, drop } = await createEngineDatabase('postgres');
    const own = await createEngineDatabase('postgres');
    const config: EngineConfig = { agents, ...options, workerId: 'test' };
    const greet = DBOS.registerWorkflow(async (name: string) => `hello ${name}`, { name: 'greet' });
    DBOS.setConfig({ name: 'mine', systemDatabaseUrl: own.options.databaseUrl ?? '' });
    await DBOS.launch();
    await expect(createEngine(config)).rejects.toMatchObject({ code: 'dbos_launched' });
    expect(await greet('ada')).toBe('hello ada');
    await DBOS.shutdown({ deregister: true });
    const engine = await createEngine(config);
    onTestFinished(() => engine.stop({ graceMs: 0 }));
    expect(await runToRest(engine, 'one')).toMatchObject({ status: 'completed' });
    await engine.stop();
    await own.drop();
    await drop();
  });
});
