import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from '@openai/agents';
import { afterAll, expect, it } from 'vitest';
import { bashTool, defineAgent } from '../../src/index.js';
import { BUSYBOX, DOCKER_HOST, describeDockerSlowly } from '../harness/docker.js';
import { ADMIN, engineFor, restOf } from '../harness/engine.js';
import { call, say, scripted } from '../harness/script.js';

const SOCKET_DIR = mkdtempSync(join(tmpdir(), 'holdfast-socket-'));
const SOCKET = join(SOCKET_DIR, 'engine.sock');
afterAll(() => rmSync(SOCKET_DIR, { recursive: true }));

const write = call('bash', { command: 'echo 3 >count.txt' }, 'write');
const agent = (name: string, outputs: Parameters<typeof scripted>[0]) =>
  defineAgent({
    agent: new Agent({ name, model: scripted(outputs), tools: [bashTool()] }),
    grants: ['container:exec:shell'],
    environment: { image: BUSYBOX, limits: { memoryMb: 128 } },
  });
const task = {
  ...{ name: 'count', version: '1.0.0', category: 'math', difficulty: 'easy' as const, instruction: 'Count.' },
  environment: { image: BUSYBOX, limits: { memoryMb: 128 } },
  verification: { tests: [{ name: 'counted', command: 'grep -qx 3 count.txt' }] },
};

describeDockerSlowly('an agent that names an unknown tool', () => {
  const t = engineFor('pglite', {
    agents: [
      agent('done', [[write], [call('no_such_tool', {}, 'unknown')]]),
      agent('idle', [[call('no_such_tool', {}, 'unknown')]]),
    ],
    dockerHost: DOCKER_HOST,
    workerId: `own-${randomBytes(3).toString('hex')}`,
    retries: { most: 0 },
  });

  it.each([
    ['done', 1, 'partial_success'],
    ['idle', 0, 'failure'],
  ])(
    'is judged by what it has done: %s',
    async (name, passed, type) => {
      const { id, runId } = await t.engine.submitTask({ task, agent: name }, ADMIN);
      expect(await restOf(t.engine, runId)).toMatchObject({ status: 'failed', error: { code: 'output_invalid' } });
      const { result } = await t.engine.getTask(id, ADMIN);
      expect(result).toMatchObject({ type });
      const { items } = await t.engine.listEvents(runId, { after: 0, limit: 100 }, ADMIN);
      const verified = items.find(({ kind }) => kind === 'task.verified');
      expect(verified?.data).toMatchObject({ evidence: { tests: [{ name: 'counted', share: passed }] } });
    },
    60_000,
  );
});

describeDockerSlowly('a run that found no container engine', () => {
  const t = engineFor('pglite', {
    agents: [agent('counter', [[write], [say('done')]])],
    dockerHost: `unix://${SOCKET}`,
    dockerPatienceMs: 300,
  });

  it('goes on when it is retried with an engine', async () => {
    const { id } = await t.engine.startRun({ agent: 'counter', input: 'Count.' }, ADMIN);
    expect(await restOf(t.engine, id)).toMatchObject({ status: 'failed', error: { code: 'engine_unreachable' } });
    symlinkSync(DOCKER_HOST.slice('unix://'.length), SOCKET);
    const retried = await t.engine.retryRun(id, {}, ADMIN);
    expect(await restOf(t.engine, retried.id)).toMatchObject({ status: 'completed', output: 'done' });
  }, 60_000);
});
