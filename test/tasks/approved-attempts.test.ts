import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent } from '@openai/agents';
import { afterAll, expect, it } from 'vitest';
import { z } from 'zod';
import { bashTool, defineAgent, defineTool, functionModel, type SubmitTask } from '../../src/index.js';
import { newDir } from '../harness/database.js';
import { BUSYBOX, DOCKER_HOST, describeDockerSlowly } from '../harness/docker.js';
import { ADMIN, BOB, engineFor, restOf } from '../harness/engine.js';
import { call, resultsIn, say, textOf } from '../harness/script.js';
import { ownVersion } from './own-version.js';

/** What people allowed in one attempt of a task does not hold in the next one, whether it goes on or begins again. */

const LONG = { timeout: 300_000 };

let did: string[] = [];
const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', input: z.object({ n: z.number() }), output: z.string(), approval: true },
  execute: ({ n }) => {
    did.push(`pay ${n}`);
    return `paid ${n}`;
  },
});
const TURNS = [
  [call('bash', { command: 'echo one >file' }, 'begin')],
  [call('pay', { n: 1 }, 'a')],
  [call('pay', { n: 2 }, 'b')],
  [call('pay', { n: 3 }, 'c')],
];
/** Its first line names a file: while that is there, it fails after its second payment. */
const model = functionModel('paying', ({ input }) => {
  const items = typeof input === 'string' ? [] : (input as readonly { content?: unknown }[]);
  const [broken = ''] = (typeof input === 'string' ? input : textOf(items[0]?.content)).split('\n');
  const done = resultsIn(input).length;
  if (done === 3 && existsSync(broken)) throw new Error('no words');
  return TURNS[done] ?? [say('done')];
});
const paying = defineAgent({
  agent: new Agent({ name: 'paying', model, tools: [bashTool(), pay] }),
  grants: ['container:exec:shell', 'tool:call:pay'],
});

describeDockerSlowly('a further attempt of a task', () => {
  const t = engineFor('pglite', {
    agents: [paying],
    retries: { most: 1, firstMs: 1, longestMs: 1 },
    dockerHost: DOCKER_HOST,
  });
  const dirs: string[] = [];
  afterAll(() => {
    for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
  });

  const submit = async (snapshots: object | null) => {
    const dir = await newDir();
    dirs.push(dir);
    const broken = join(dir, 'broken');
    writeFileSync(broken, '');
    const task = {
      ...{ name: 'pays', version: '1.0.0', category: 'shell', difficulty: 'easy' as const, instruction: broken },
      environment: { image: BUSYBOX, limits: { memoryMb: 128, maxProcesses: 64 }, snapshots },
      verification: { tests: [{ name: 'one', command: '[ "$(cat file)" = one ]' }] },
    };
    const { id, runId } = await t.engine.submitTask({ task: ownVersion(task), agent: 'paying' } as SubmitTask, ADMIN);
    return { id, runId, broken };
  };
  const pendingOf = async (runId: string) =>
    (await t.engine.listInterruptions({ status: 'pending', runId, limit: 10 }, BOB)).items;
  const nextOf = async (id: string, first: string): Promise<string> => {
    const last = async () => (await t.engine.getTask(id, ADMIN)).runId;
    await expect.poll(last, LONG).not.toBe(first);
    return last();
  };

  it('asks again for what its attempt before was allowed', LONG, async () => {
    for (const [snapshots, asks, again] of [
      [{ keepHours: 1 }, 'c', ['pay 3']],
      [null, 'a', ['pay 1', 'pay 2', 'pay 3']],
    ] as const) {
      did = [];
      const task = await submit(snapshots);
      await expect.poll(async () => (await pendingOf(task.runId)).length, LONG).toBe(1);
      const [first] = await pendingOf(task.runId);
      await t.engine.decide(first?.id ?? '', { verdict: 'approve', always: true }, BOB);
      const runId = await nextOf(task.id, task.runId);
      expect(did).toEqual(['pay 1', 'pay 2']);
      rmSync(task.broken);
      did = [];
      await expect.poll(async () => (await pendingOf(runId)).map(({ callId }) => callId), LONG).toEqual([asks]);
      const { items: standing } = await t.engine.listStandingDecisions(runId, { limit: 10 }, BOB);
      expect(standing.map(({ revokedBy }) => revokedBy)).toEqual(snapshots === null ? [] : ['holdfast']);
      expect(did).toEqual([]);
      for (const callId of again) {
        const [one] = await pendingOf(runId);
        await t.engine.decide(one?.id ?? '', { verdict: 'approve' }, BOB);
        await restOf(t.engine, runId);
        expect(did.at(-1), callId).toBe(callId);
      }
      expect(did).toEqual(again);
      await expect.poll(async () => (await t.engine.getTask(task.id, ADMIN)).status, LONG).toBe('completed');
      await t.engine.eraseRun(runId, { reason: 'it is over' }, ADMIN);
      await t.engine.eraseRun(task.runId, { reason: 'it is over' }, ADMIN);
    }
  });
});
