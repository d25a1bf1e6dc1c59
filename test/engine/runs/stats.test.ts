import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from '@openai/agents';
import { afterAll, describe, expect, it } from 'vitest';
import { askHumanTool, defineAgent, functionModel } from '../../../src/index.js';
import { readSummary } from '../../../src/storage/tasks/task-stats.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, engineFor, restOf } from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

/** Numbers of the tasks and runs of a tenant, and how the parts of a server are. */

const OTHER = { ...ADMIN, tenant: 'elsewhere' };
const mute = functionModel('mute', () => {
  throw new Error('no words');
});
const asks = scripted([[call('ask_human', { question: 'On?' }, 'ask')]]);
const AGENTS = [
  defineAgent({ agent: new Agent({ name: 'mute', model: mute }) }),
  defineAgent({
    agent: new Agent({ name: 'asker', model: asks, tools: [askHumanTool()] }),
    grants: ['human:ask:question'],
  }),
];
const definition = {
  ...{ name: 'say', version: '1.0.0', category: 'words', difficulty: 'easy' as const, instruction: 'Say something.' },
  ...{ environment: { image: 'none:1' }, verification: { tests: [{ name: 'said', command: 'true' }] } },
};
/** Nothing here is about how quick a machine is. */
const PATIENT = { timeout: 60_000, interval: 100 };
const ZERO = { queued: 0, running: 0, paused: 0, completed: 0, failed: 0, cancelled: 0 };

describeEachDatabase('statistics', (kind) => {
  const t = engineFor(kind, { agents: AGENTS, retries: { most: 0 } });
  const submit = async (agent: string, changes: Partial<typeof definition> | { difficulty: 'hard' } = {}) => {
    const version = `1.0.0-${Object.values(changes).join('-') || 'plain'}`;
    const { runId } = await t.engine.submitTask({ task: { ...definition, version, ...changes }, agent }, ADMIN);
    await restOf(t.engine, runId);
    return runId;
  };

  it('count tasks by what they are and became, and what ended lately, of one tenant', async () => {
    const none = { ...ZERO, total: 0 };
    expect(await t.engine.stats(OTHER)).toMatchObject({
      tasks: { total: 0, byStatus: ZERO, byCategory: {}, meanReward: null, passRate: null },
      throughput: { runs: { lastHour: 0, lastDay: 0 }, tasks: { lastHour: 0, lastDay: 0 } },
    });
    const rewarded = [await submit('mute'), await submit('mute', { difficulty: 'hard' })];
    await submit('mute', { category: 'sums' });
    await submit('asker');
    await t.engine.rewardRun(rewarded[0] ?? '', { reward: 0.5, verificationPassed: true }, ADMIN);
    await t.engine.rewardRun(rewarded[1] ?? '', { reward: 0.25, verificationPassed: false }, ADMIN);
    const { tasks, throughput, runs } = await t.engine.stats(ADMIN);
    expect(runs).toEqual({ ...ZERO, failed: 3, paused: 1 });
    expect(tasks).toMatchObject({
      total: 4,
      byStatus: { ...ZERO, failed: 3, paused: 1 },
      byCategory: { words: 3, sums: 1 },
      byDifficulty: { easy: 3, medium: 0, hard: 1, expert: 0 },
      // The error of the third counts as nothing.
      ...{ meanReward: 0.25, passRate: 1 / 3, brokenByAgent: 0 },
    });
    expect(Object.values(tasks?.byResult ?? none).reduce((sum, n) => sum + n, 0)).toBe(3);
    const ended = { lastHour: 3, lastDay: 3 };
    expect(throughput).toEqual({ runs: ended, tasks: ended });
    expect((await t.engine.stats(OTHER)).tasks?.total).toBe(0);
  });

  it.runIf(SLOW)('what ended long ago is not lately, and a task without a living run waits', async () => {
    const [before, after] = await t.between(async (knex) => {
      const first = await readSummary(knex, 'default');
      const ago = (hours: number) => knex.raw(`now() - interval '${hours} hours'`);
      const [one = '', two = ''] = await knex('holdfast.tasks').where({ status: 'failed' }).pluck('run_id');
      await knex('holdfast.tasks')
        .where({ run_id: one })
        .update({ completed_at: ago(30) });
      await knex('holdfast.runs')
        .where({ id: one })
        .update({ completed_at: ago(30) });
      await knex('holdfast.tasks')
        .where({ run_id: two })
        .update({ completed_at: ago(2), status: 'open' });
      await knex('holdfast.runs')
        .where({ id: two })
        .update({ completed_at: ago(2) });
      return [first, await readSummary(knex, 'default')];
    });
    expect(before.throughput.runs).toEqual({ lastHour: 3, lastDay: 3 });
    expect(after.throughput.runs).toEqual({ lastHour: 1, lastDay: 2 });
    expect(after.throughput.tasks).toEqual({ lastHour: 1, lastDay: 2 });
    expect(after.tasks.byStatus).toEqual({ ...ZERO, failed: 2, paused: 1, queued: 1 });
  });
});

describe('health', () => {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-health-'));
  const path = join(dir, 'engine.sock');
  const sockets: Socket[] = [];
  let looks = 0;
  const silent = createServer((socket) => {
    sockets.push(socket);
    socket.on('data', (sent) => {
      if (sent.toString().startsWith('GET /version')) looks++;
    });
  });
  const t = engineFor('pglite', { agents: AGENTS, dockerHost: `unix://${path}` });
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
    rmSync(dir, { recursive: true });
  });

  it.runIf(SLOW)('is a warning without the engine of containers, and where it says nothing', async () => {
    const containers = async () => (await t.engine.health()).checks['containers'];
    const away = { status: 'warn', detail: expect.stringContaining('does not answer') };
    await expect.poll(containers, PATIENT).toEqual(away);
    await expect
      .poll(async () => (await t.engine.health()).checks, PATIENT)
      .toMatchObject({ database: { status: 'pass' }, engine: { status: 'pass' }, containers: away });
    await new Promise<void>((resolve) => silent.listen(path, resolve));
    const mute = { status: 'warn', detail: expect.stringContaining('no answer within') };
    expect(await Promise.all([containers(), containers(), containers()])).toEqual([mute, mute, mute]);
    await expect.poll(() => t.engine.isReady(), PATIENT).toBe(true);
    // However many ask, one that does not answer is asked once.
    await expect.poll(() => looks, PATIENT).toBe(1);
  });
});
