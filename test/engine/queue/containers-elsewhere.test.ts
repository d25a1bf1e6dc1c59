import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from '@openai/agents';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { defineAgent, functionModel } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, engineFor, restOf } from '../../harness/engine.js';
import { say } from '../../harness/script.js';

/** A worker without a container engine, beside another one that has it or had it. */

const PATIENCE_MS = 6000;
const agent = defineAgent({
  agent: new Agent({ name: 'plain', model: functionModel('m', async () => [say('done')]) }),
});
const TASK = {
  ...{ name: 'add-up', version: '1.0.0', category: 'math', difficulty: 'easy' as const, instruction: 'Add up.' },
  environment: { image: 'one:1' },
  verification: { tests: [{ name: 'adds', command: 'true' }] },
};

describeEachDatabase('a worker without a container engine', (kind) => {
  const t = engineFor(kind, { agents: [agent], dockerPatienceMs: PATIENCE_MS, retries: { most: 0 } });
  let dir: string;
  let socket: string;
  let server: Server | null = null;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
    socket = join(dir, 'engine.sock');
  });
  afterEach(async () => {
    await close();
    rmSync(dir, { recursive: true });
  });
  /** An engine that says its version, and refuses everything else. */
  const open = async () => {
    const opened = createServer((request, response) => {
      response.statusCode = request.url?.endsWith('/version') ? 200 : 500;
      response.end(JSON.stringify({ Version: '1', message: 'refused' }));
    });
    await new Promise<void>((resolve) => opened.listen(socket, resolve));
    server = opened;
  };
  const close = async () => {
    const closed = server;
    server = null;
    closed?.closeAllConnections();
    await new Promise<void>((resolve) => (closed === null ? resolve() : closed.close(() => resolve())));
  };
  const ownContainers = async () =>
    (await t.engine.listWorkers({ limit: 10 })).items.find(({ id }) => id === 'test')?.containers;
  const submit = async () => (await t.engine.submitTask({ task: TASK, agent: 'plain' }, ADMIN)).runId;

  it('fails a run that needs one, where no worker has one', async () => {
    const [own] = (await t.engine.listWorkers({ limit: 10 })).items;
    expect(own?.containers).toBe(false);
    expect(await restOf(t.engine, await submit())).toMatchObject({
      status: 'failed',
      error: { code: 'engine_unreachable' },
    });
  });

  it('leaves it to one that has it, says so, and fails it when that one was away for the patience', async () => {
    await open();
    await t.restart({ workerId: 'elsewhere', dockerHost: `unix://${socket}` });
    await t.restart();
    const workers = (await t.engine.listWorkers({ limit: 10 })).items;
    expect(Object.fromEntries(workers.map(({ id, containers }) => [id, containers]))).toMatchObject({
      ...{ elsewhere: true, test: false },
    });
    const id = await submit();
    const plain = (await t.engine.startRun({ agent: 'plain', input: 'go' }, ADMIN)).id;
    expect(await restOf(t.engine, plain)).toMatchObject({ status: 'completed' });
    expect(await t.engine.getRun(id, ADMIN)).toMatchObject({ status: 'queued' });
    const health = await t.engine.health();
    expect(health.checks['containers']).toMatchObject({ status: 'warn', detail: expect.stringContaining('wait') });
    const run = await restOf(t.engine, id);
    expect(run).toMatchObject({ status: 'failed', error: { code: 'engine_unreachable' } });
    await expect.poll(async () => (await t.engine.health()).checks['containers']).toBeUndefined();
  });

  it('leaves runs in the queue while its engine does not answer, and takes them when it does', async () => {
    await t.restart({ dockerHost: `unix://${socket}`, dockerPatienceMs: 60_000 });
    await expect.poll(ownContainers).toBe(false);
    const id = await submit();
    const plain = (await t.engine.startRun({ agent: 'plain', input: 'go' }, ADMIN)).id;
    expect(await restOf(t.engine, plain)).toMatchObject({ status: 'completed' });
    expect(await t.engine.getRun(id, ADMIN)).toMatchObject({
      status: 'queued',
      waitsFor: { code: 'container_engine' },
    });
    await open();
    // The worker takes the run, and this engine refuses everything that a run needs.
    expect(await restOf(t.engine, id)).toMatchObject({ status: 'failed', error: { code: 'engine_unreachable' } });
    expect(await ownContainers()).toBe(true);
  }, 20_000);

  it('takes runs after the patience, also when its engine does not answer', async () => {
    await t.restart({ dockerHost: `unix://${socket}`, dockerPatienceMs: 1500 });
    await expect.poll(ownContainers).toBe(false);
    const id = await submit();
    expect(await t.engine.getRun(id, ADMIN)).toMatchObject({ status: 'queued' });
    expect(await restOf(t.engine, id)).toMatchObject({ status: 'failed', error: { code: 'engine_unreachable' } });
  }, 20_000);
});
