import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Docker from 'dockerode';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEngine, type Engine } from '../../src/index.js';
import { killEngine, ownEngine } from '../containers/own-engine.js';
import { BUSYBOX, describeDockerSlowly } from '../harness/docker.js';
import { ADMIN, dataOf } from '../harness/engine.js';
import { noOwnPostgres, type OwnPostgres, openOwnPostgres } from '../harness/own-postgres.js';
import { WorkerProcess } from '../workers/worker-process.js';
import { agents, RESULTS } from './chaos-agents.js';

/** Tasks on three workers, while workers, the container engine and PostgreSQL die: each ends once, as it would have, and nothing is left. */

const PROGRAM = join(import.meta.dirname, '../../dist/programs/test/tasks/chaos-worker.js');
const TASKS = 40;
const WORKERS = 3;

const definition = {
  ...{ name: 'two-files', version: '1.0.0', category: 'shell', difficulty: 'easy' as const },
  instruction: 'Make the files first and second.',
  environment: { image: BUSYBOX, limits: { memoryMb: 64, maxProcesses: 64 } },
  verification: {
    tests: [
      { name: 'first', command: 'sleep 0.2; grep -x one first' },
      { name: 'second', command: 'sleep 0.2; grep -x two second' },
    ],
  },
};

const why = noOwnPostgres();
const suiteOf =
  why === null ? describeDockerSlowly : (name: string, suite: () => void) => describe.skip(`${name} (${why})`, suite);

suiteOf('tasks whose workers, engine and database die', () => {
  const dir = mkdtempSync(join(tmpdir(), 'hf-'));
  let postgres: OwnPostgres;
  let engine: Engine;
  let host: string;
  let isOver = false;
  const seats: Promise<void>[] = [];
  const seated = new Map<string, WorkerProcess>();

  /** Keeps a worker of this name, whatever ends it. */
  async function keep(id: string): Promise<void> {
    while (!isOver) {
      const worker = new WorkerProcess({ DATABASE_URL: postgres.url, ENGINE_HOST: host, WORKER_ID: id }, [PROGRAM]);
      seated.set(id, worker);
      await worker.ended;
      await sleep(300);
    }
  }

  beforeAll(async () => {
    postgres = await openOwnPostgres();
    host = ownEngine('up', dir);
    // One attempt more than there are engines that die under a command.
    const retries = { most: 4, firstMs: 100, longestMs: 1000 };
    engine = await createEngine({
      agents,
      retries,
      role: 'api',
      workerId: 'api',
      databaseUrl: postgres.url,
      dataDir: dir,
    });
    for (let n = 0; n < WORKERS; n++) seats.push(keep(`worker-${n}`));
  });
  afterAll(async () => {
    isOver = true;
    for (const worker of seated.values()) worker.kill('SIGKILL');
    await Promise.all(seats);
    await engine?.stop();
    await postgres?.close();
    ownEngine('down', dir);
    rmSync(dir, { recursive: true, force: true });
  });

  const kill = (n: number): void => seated.get(`worker-${n}`)?.kill('SIGKILL');

  async function restartEngine(): Promise<void> {
    await killEngine(dir);
    await sleep(1000);
    ownEngine('up', dir);
  }

  async function restartPostgres(): Promise<void> {
    await postgres.stop('immediate');
    await sleep(1000);
    await postgres.start();
  }

  /** What happens after so many tasks are over. */
  const FAULTS: readonly (readonly [number, () => Promise<void> | void])[] = [
    [3, () => kill(0)],
    [8, restartEngine],
    [14, restartPostgres],
    [18, () => [0, 1, 2].forEach(kill)],
    [24, restartEngine],
    [28, () => kill(1)],
    [32, restartPostgres],
  ];

  /** While the database is away no one is answered. */
  async function inSpite<T>(ask: () => Promise<T>): Promise<T> {
    for (let tries = 0; ; tries++) {
      try {
        return await ask();
      } catch (error) {
        if (tries > 100) throw error;
        await sleep(200);
      }
    }
  }

  it('end once, as they would have, and leave nothing', { timeout: 600_000 }, async () => {
    const names = Object.keys(RESULTS);
    const submitted = await Promise.all(
      Array.from({ length: TASKS }, (_, n) =>
        engine.submitTask({ task: definition, agent: names[n % names.length] ?? '' }, ADMIN, `task-${n}`),
      ),
    );
    const left = [...FAULTS];
    for (;;) {
      const tasks = await Promise.all(submitted.map(({ id }) => inSpite(() => engine.getTask(id, ADMIN))));
      const over = tasks.filter(({ result }) => result !== null).length;
      const next = left[0];
      if (next !== undefined && over >= next[0]) {
        left.shift();
        await next[1]();
      }
      if (over === TASKS) break;
      await sleep(100);
    }
    const tasks = await Promise.all(submitted.map(({ id }) => engine.getTask(id, ADMIN)));
    expect(left).toEqual([]);
    const told = (result: (typeof tasks)[number]['result']) => (result?.type === 'error' ? result : result?.type);
    expect(tasks.map(({ agent, result }) => [agent, told(result)])).toEqual(
      tasks.map(({ agent }) => [agent, RESULTS[agent]]),
    );
    for (const { runId, reward } of tasks) {
      const verified = await dataOf(engine, runId, 'task.verified');
      expect(verified).toMatchObject([{ evidence: { tests: [{ name: 'first' }, { name: 'second' }] } }]);
      const { items } = await engine.listRewards(runId, { after: 0, limit: 5 }, ADMIN);
      expect(items).toMatchObject([{ version: 1, actor: 'verifier', reward, intact: true }]);
      expect(await engine.verifyRun(runId, ADMIN)).toMatchObject({ ok: true, complete: true });
    }
    const docker = new Docker({ socketPath: host.slice('unix://'.length) });
    const filters = { label: ['holdfast.managed'] };
    const onEngine = async () => [
      ...(await docker.listContainers({ all: true, filters })).map(({ Names }) => Names[0]),
      ...((await docker.listVolumes({ filters })).Volumes ?? []).map(({ Name }) => Name),
      ...(await docker.listImages({ filters })).map(({ Id }) => Id),
    ];
    await expect.poll(onEngine, { timeout: 120_000, interval: 500 }).toEqual([]);
  });
});
