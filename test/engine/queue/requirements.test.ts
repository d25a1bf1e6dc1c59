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

/** What runs require of the one worker, whose container engine says what its machine has and refuses everything else. */

const requires = { labels: { gpu: 'a100' }, cpuCores: 2, architecture: 'amd64' };
const agentOf = (name: string, environment = {}) =>
  defineAgent({ agent: new Agent({ name, model: functionModel('m', async () => [say('done')]) }), ...environment });
const agents = [agentOf('plain'), agentOf('boxed', { environment: { image: 'one:1', requires } })];
const TASK = {
  ...{ name: 'add-up', version: '1.0.0', category: 'math', difficulty: 'easy' as const, instruction: 'Add up.' },
  environment: { image: 'one:1', requires },
  verification: { tests: [{ name: 'adds', command: 'true' }] },
};
const INFO = { ID: 'engine', Name: 'here', DockerRootDir: '/', NCPU: 2, MemTotal: 2 ** 31, Architecture: 'x86_64' };

describeEachDatabase('what runs require of workers', (kind) => {
  const t = engineFor(kind, { agents, retries: { most: 0 } });
  let dir: string;
  let server: Server;
  let dockerHost: string;
  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
    const socket = join(dir, 'engine.sock');
    server = createServer(({ url = '' }, response) => {
      const isVolume = url.includes('/volumes/');
      response.statusCode = isVolume || url.endsWith('/version') || url.endsWith('/info') ? 200 : 500;
      const volume = { Name: 'holdfast-engine', Labels: { 'holdfast.engine': 'engine' } };
      response.end(JSON.stringify(isVolume ? volume : { Version: '1', message: 'refused', ...INFO }));
    });
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    dockerHost = `unix://${socket}`;
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
    rmSync(dir, { recursive: true });
  });
  const offer = async () => (await t.engine.listWorkers({ limit: 10 })).items.find(({ id }) => id === 'test')?.offer;
  const waitsFor = async (id: string) => (await t.engine.getRun(id, ADMIN)).waitsFor;

  it.each([
    ['no image is limited', {}],
    ['images are limited', { images: { 'one:1': { concurrency: 5 } } }],
  ])('are waited for, named and found where %s', async (_, limits) => {
    await t.restart({ dockerHost, ...limits });
    await expect.poll(offer).toMatchObject({ labels: {}, cpuCores: 2, memoryMb: 2048, architecture: 'amd64' });
    const { runId } = await t.engine.submitTask({ task: TASK, agent: 'plain' }, ADMIN);
    const boxed = (await t.engine.startRun({ agent: 'boxed', input: 'go' }, ADMIN)).id;
    const plain = (await t.engine.startRun({ agent: 'plain', input: 'go' }, ADMIN)).id;
    expect(await restOf(t.engine, plain)).toMatchObject({ status: 'completed' });
    for (const id of [runId, boxed])
      expect(await waitsFor(id)).toMatchObject({
        code: 'requirements',
        detail: expect.stringContaining('the label gpu=a100, the architecture amd64 and 2 processors'),
      });
    const check = async (caller = ADMIN) => (await t.engine.health(caller)).checks['requirements'];
    expect(await check()).toMatchObject({ status: 'warn', detail: expect.stringContaining('gpu=a100') });
    const { installation: _none, ...tenantOnly } = ADMIN;
    expect(await check(tenantOnly)).toMatchObject({ status: 'warn' });
    expect(await check({ ...tenantOnly, tenant: 'acme' })).toBeUndefined();

    await t.restart({ dockerHost, ...limits, workerLabels: { gpu: 'a100', zone: 'b' }, workerContainers: 3 });
    expect(await restOf(t.engine, boxed)).toMatchObject({ status: 'completed' });
    // The task is taken, and this engine refuses what it needs.
    expect(await restOf(t.engine, runId)).toMatchObject({ status: 'failed', error: { code: 'environment_failed' } });
    expect(await offer()).toMatchObject({ labels: { gpu: 'a100', zone: 'b' }, containers: 3 });
    expect(await check()).toBeUndefined();
  });
});
