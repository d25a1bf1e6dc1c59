import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createEngine, type Engine } from '../../src/index.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { createEngineDatabase, describePostgresSlowly, type TestDatabase } from '../harness/database.js';
import { DOCKER_HOST, describeDocker } from '../harness/docker.js';
import { ADMIN, eventsOf, restOf } from '../harness/engine.js';
import { leftOn, removeLeft } from '../harness/on-docker.js';
import { describePodman, PODMAN_HOST } from '../harness/podman.js';
import { agents } from './engine-agents.js';
import { WorkerProcess } from './worker-process.js';

/** Two workers, each with a container engine of its own. */
function suite(): void {
  let database: TestDatabase;
  let engine: Engine;
  let runIds: string[];
  const processes: WorkerProcess[] = [];
  beforeEach(async () => {
    runIds = [];
    database = await createEngineDatabase('postgres');
    engine = await createEngine({ ...database.options, agents, role: 'api', workerId: 'api' });
  });
  afterEach(async () => {
    for (const one of processes) if (!one.isGone) one.kill('SIGKILL');
    await Promise.all(processes.splice(0).map(({ ended }) => ended));
    await engine.stop();
    await database.drop();
    await removeLeft(DOCKER_HOST, runIds);
    await removeLeft(PODMAN_HOST, runIds);
  });

  const start = async (id: string, host: string, more: Record<string, string> = {}) => {
    const worker = new WorkerProcess(
      {
        ...{ DATABASE_URL: database.options.databaseUrl ?? '', HOLDFAST_DATA_DIR: `${database.options.dataDir}/${id}` },
        ...{ WORKER_ID: id, ENGINE: host, CONCURRENCY: '2', ...more },
      },
      ['dist/programs/test/workers/engine-worker.js'],
    );
    processes.push(worker);
    await worker.says('ready');
    return worker;
  };
  const startBoth = async (onOne: Record<string, string> = {}, onTwo: Record<string, string> = {}) => {
    const [one] = await Promise.all([start('one', DOCKER_HOST, onOne), start('two', PODMAN_HOST, onTwo)]);
    const engines = async () => (await engine.listWorkers({ limit: 10 })).items.flatMap(({ engine }) => engine ?? []);
    await expect.poll(async () => new Set(await engines()).size).toBe(2);
    return one;
  };
  const startRuns = async (agent: string, count: number) => {
    for (let n = 0; n < count; n++) runIds.push((await engine.startRun({ agent, input: 'go' }, ADMIN)).id);
  };
  const outputOf = async (runId: string, call: string) => {
    const finished = await eventsOf(engine, runId, 'call.finished');
    const [found] = finished.flatMap(({ data }) => {
      const { callId, outcome } = data as { callId: string; outcome: { output?: { stdout: string } } };
      return callId === call ? [outcome] : [];
    });
    return found?.output?.stdout;
  };
  const enginesOfRuns = async (): Promise<Map<string, string>> => {
    const opened = await openDatabase(database.options);
    const kept = opened.knex('holdfast.environments');
    const rows: { run_id: string; engine: string }[] = await kept.select('run_id', 'engine');
    await opened.close();
    return new Map(rows.map(({ run_id: id, engine }) => [id, engine]));
  };

  const statesOfContainers = async (): Promise<Set<string>> => {
    const opened = await openDatabase(database.options);
    const states: string[] = await opened.knex('holdfast.environments').pluck('state');
    await opened.close();
    return new Set(states);
  };

  it('a run that paused goes on at the worker that has its container, and waits for it', async () => {
    const one = await startBoth();
    await startRuns('asker', 6);
    for (const id of runIds) expect(await restOf(engine, id)).toMatchObject({ status: 'paused' });
    const workers = (await engine.listWorkers({ limit: 10 })).items;
    const engineOfOne = workers.find(({ id }) => id === 'one')?.engine;
    const places = await enginesOfRuns();
    const onOne = runIds.filter((id) => places.get(id) === engineOfOne);
    expect(onOne.length).toBeGreaterThan(0);
    expect(onOne.length).toBeLessThan(runIds.length);
    // A worker that dies while it stops a container keeps it for the time of its lease.
    await expect.poll(statesOfContainers, { timeout: 20_000 }).toEqual(new Set(['down']));

    one.kill('SIGKILL');
    await one.ended;
    const asked = (await engine.listInterruptions({ status: 'pending', limit: 100 }, ADMIN)).items;
    for (const { id } of asked) await engine.decide(id, { verdict: 'answer', value: 'yes' }, ADMIN);
    for (const id of runIds)
      if (!onOne.includes(id)) expect(await restOf(engine, id)).toMatchObject({ status: 'completed' });
    const [waiting = ''] = onOne;
    await expect
      .poll(() => engine.getRun(waiting, ADMIN))
      .toMatchObject({
        status: 'queued',
        waitsFor: { code: 'container_engine', detail: expect.stringContaining(`${engineOfOne}`) },
      });

    await start('one', DOCKER_HOST);
    for (const id of runIds) {
      expect(await restOf(engine, id)).toMatchObject({ status: 'completed' });
      expect(await outputOf(id, 'after')).toBe('kept\n');
      expect(await engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
    }
    const left = async () =>
      (await Promise.all(runIds.flatMap((id) => [leftOn(DOCKER_HOST, id), leftOn(PODMAN_HOST, id)]))).reduce(
        (a, b) => a + b,
      );
    await expect.poll(left).toBe(0);
  });

  it('a run whose worker dies in a command waits for its engine, and collects what the command did', async () => {
    const one = await startBoth();
    await startRuns('lasting', 4);
    await expect.poll(async () => (await enginesOfRuns()).size).toBe(4);
    one.kill('SIGKILL');
    await one.ended;
    // The other worker has taken the segments over, and left those in the queue whose container is elsewhere.
    await expect
      .poll(async () =>
        (await Promise.all(runIds.map((id) => engine.getRun(id, ADMIN)))).map(({ waitsFor }) => waitsFor?.code),
      )
      .toContain('container_engine');
    await start('one', DOCKER_HOST);
    for (const id of runIds) {
      expect(await restOf(engine, id)).toMatchObject({ status: 'completed' });
      expect(await outputOf(id, 'long')).toBe('run\n');
    }
  });

  it('a burst is shared by workers, also when its runs come one by one', async () => {
    await startBoth({ CONCURRENCY: '8' }, { CONCURRENCY: '4' });
    await startRuns('lasting', 6);
    for (const id of runIds) expect(await restOf(engine, id)).toMatchObject({ status: 'completed' });
    const { items: workers } = await engine.listWorkers({ limit: 10 });
    const places = [...(await enginesOfRuns()).values()];
    const on = (id: string) => places.filter((place) => place === workers.find((one) => one.id === id)?.engine).length;
    // On a busy machine a run may be taken after its five seconds, by any of them.
    for (const id of ['one', 'two']) expect(on(id)).toBeGreaterThanOrEqual(2);
  });

  it('runs that require a label wait when the last worker with it dies, say so, and go on at the next', async () => {
    const one = await startBoth({ LABELS: 'gpu=a100,zone=b' });
    await startRuns('labelled', 1);
    const [begun = ''] = runIds;
    await expect.poll(async () => (await enginesOfRuns()).size).toBe(1);
    one.kill('SIGKILL');
    await one.ended;
    await startRuns('labelled', 1);
    const [, next = ''] = runIds;
    await startRuns('short', 1);
    const waitsFor = async (id: string) => (await engine.getRun(id, ADMIN)).waitsFor?.code;
    await expect.poll(() => waitsFor(next)).toBe('requirements');
    await expect.poll(() => waitsFor(begun)).toBe('container_engine');
    expect((await engine.health()).checks['requirements']?.detail).toContain('the label gpu=a100');
    expect(await restOf(engine, runIds[2] ?? '')).toMatchObject({ status: 'completed' });
    expect(await waitsFor(next)).toBe('requirements');

    await start('one', DOCKER_HOST, { LABELS: 'gpu=a100' });
    for (const id of [begun, next]) {
      expect(await restOf(engine, id)).toMatchObject({ status: 'completed' });
      expect(await outputOf(id, 'long')).toBe('run\n');
      expect(await engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
    }
    expect((await engine.health()).checks['requirements']).toBeUndefined();
    const enginesUsed = await enginesOfRuns();
    expect(enginesUsed.get(next)).toBe(enginesUsed.get(begun));
  });
}

describe('workers with engines of their own', () =>
  describeDocker('one', () => describePodman('and one', () => describePostgresSlowly('with', suite))));
