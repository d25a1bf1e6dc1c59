import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Agent } from '@openai/agents';
import { afterAll, expect, it } from 'vitest';
import { askHumanTool, bashTool, defineAgent, functionModel, type SubmitTask } from '../../src/index.js';
import { BUSYBOX, DOCKER_HOST, describeDocker } from '../harness/docker.js';
import { ADMIN, dataOf, engineFor, restOf } from '../harness/engine.js';
import { call, say, scripted } from '../harness/script.js';

/** What is kept of an attempt that is not verified: it failed, was cancelled, or its verification did. */

const dir = mkdtempSync(join(tmpdir(), 'holdfast-left-'));
afterAll(() => rmSync(dir, { recursive: true }));

const WORK = 'echo zwei >notes; mkdir -p out; echo result >out/a.log';
let turns = 0;
const agentOf = (name: string, model: ReturnType<typeof scripted>) =>
  defineAgent({ agent: new Agent({ name, model, tools: [bashTool()] }), grants: ['container:exec:shell'] });
const AGENTS = [
  agentOf('worker', scripted([[call('bash', { command: WORK }, 'work')], [say('done')]])),
  agentOf(
    'breaks',
    functionModel('breaks', () => {
      if (turns++ > 0) throw new Error('the model is gone');
      return [call('bash', { command: WORK }, 'work')];
    }),
  ),
  agentOf(
    'slow',
    scripted([
      [call('bash', { command: WORK }, 'work')],
      [call('bash', { command: 'while true; do sleep 1; done' }, 'endless')],
      [say('done')],
    ]),
  ),
  defineAgent({
    agent: new Agent({
      name: 'asks',
      model: scripted([[call('bash', { command: WORK }, 'work')], [call('ask_human', { question: 'Go on?' }, 'ask')]]),
      tools: [bashTool(), askHumanTool()],
    }),
    grants: ['container:exec:shell', 'human:ask:question'],
  }),
  agentOf(
    'idle',
    functionModel('idle', () => {
      throw new Error('no model');
    }),
  ),
];
const task = (agent: string, changes: { readonly reward?: string; readonly bare?: boolean } = {}): SubmitTask => ({
  agent,
  ...(changes.reward !== undefined && { reward: changes.reward }),
  task: {
    ...{ name: changes.bare ? 'bare' : 'leaves', version: '1.0.0', category: 'test', difficulty: 'easy' as const },
    instruction: 'Work.',
    environment: { image: BUSYBOX, limits: { memoryMb: 128, maxProcesses: 64 } },
    initialFiles: changes.bare ? {} : { notes: 'two\n' },
    verification: { tests: [{ name: 'says', command: 'echo tested' }] },
    artifacts: { patch: true, files: ['out/*.log'], commandOutput: true },
  },
});

describeDocker('artifacts of an attempt that is not verified', () => {
  const t = engineFor('pglite', {
    ...{ agents: AGENTS, dockerHost: DOCKER_HOST, artifacts: dir },
    rewards: {
      broken: () => {
        throw new Error('no reward');
      },
    },
  });
  const read = async (runId: string, name: string) => {
    const pieces: Uint8Array[] = [];
    for await (const piece of (await t.engine.readArtifact(runId, name, ADMIN)).content) pieces.push(piece);
    return Buffer.concat(pieces).toString();
  };
  const expectLeft = async (runId: string, kind: 'run.failed' | 'run.cancelled', outputs: readonly string[] = []) => {
    const { items, leftOut } = await t.engine.listArtifacts(runId, ADMIN);
    expect(leftOut).toEqual([]);
    expect(items.map(({ name }) => name)).toEqual(['file-1', 'patch.diff', ...outputs]);
    expect(await read(runId, 'file-1')).toBe('result\n');
    expect(await read(runId, 'patch.diff')).toContain('-two\n+zwei\n');
    const [ended] = await dataOf(t.engine, runId, kind);
    expect(ended).toMatchObject({ artifacts: { items: items.map(({ sha256 }) => ({ sha256 })) } });
    expect(await dataOf(t.engine, runId, 'task.verified')).toEqual([]);
    const whole = { whole: items.length, wrong: [] };
    expect(await t.engine.verifyRun(runId, ADMIN)).toMatchObject({ ok: true, complete: true, artifacts: whole });
  };

  it('are patch and files as the agent left them, when its model fails', async () => {
    const { runId } = await t.engine.submitTask(task('breaks'), ADMIN);
    expect((await restOf(t.engine, runId)).status).toBe('failed');
    await expectLeft(runId, 'run.failed');
    // A replay makes no container, and reads no files.
    expect((await t.engine.replayRun(runId, {}, ADMIN)).differences).toEqual([]);
    await t.engine.eraseRun(runId, { reason: 'asked' }, ADMIN);
    expect(await t.engine.listArtifacts(runId, ADMIN)).toEqual({ items: [], leftOut: [], more: 0 });
    await expect.poll(() => readdirSync(dir), { timeout: 15_000 }).not.toContain(runId);
  });

  it('are kept when it is cancelled in the middle of a command', async () => {
    const { runId } = await t.engine.submitTask(task('slow'), ADMIN);
    const begun = () => t.engine.listEvents(runId, { after: 0, limit: 2, kind: 'call.started' }, ADMIN);
    await expect.poll(async () => (await begun()).items.length, { timeout: 30_000 }).toBe(2);
    await t.engine.cancelRun(runId, 'enough', ADMIN);
    expect((await restOf(t.engine, runId)).status).toBe('cancelled');
    await expectLeft(runId, 'run.cancelled');
  });

  it('have the output of tests as well, when the verification fails after them', async () => {
    const { runId } = await t.engine.submitTask(task('worker', { reward: 'broken' }), ADMIN);
    expect(await restOf(t.engine, runId)).toMatchObject({ status: 'failed', error: { code: 'verification_failed' } });
    await expectLeft(runId, 'run.failed', ['test-1.stdout']);
  });

  it('are kept when it is cancelled while it waits', async () => {
    const { runId } = await t.engine.submitTask(task('asks'), ADMIN);
    expect((await restOf(t.engine, runId)).status).toBe('paused');
    await t.engine.cancelRun(runId, 'enough', ADMIN);
    expect(await restOf(t.engine, runId)).toMatchObject({ status: 'cancelled' });
    await expectLeft(runId, 'run.cancelled');
    expect(await t.engine.verifyRun(runId, ADMIN)).toMatchObject({ rows: [] });
    expect((await t.engine.replayRun(runId, {}, ADMIN)).differences).toEqual([]);
    expect(await t.engine.listInterruptions({ runId, status: 'pending', limit: 10 }, ADMIN)).toMatchObject({
      items: [],
    });
    const { items } = await t.engine.listTasks({ limit: 1 }, ADMIN);
    expect(items).toMatchObject([{ runId, status: 'cancelled' }]);
  });

  it('are none of a run that never used its container', async () => {
    const { runId } = await t.engine.submitTask(task('idle', { bare: true }), ADMIN);
    expect((await restOf(t.engine, runId)).status).toBe('failed');
    expect(await t.engine.listArtifacts(runId, ADMIN)).toEqual({ items: [], leftOut: [], more: 0 });
  });
});

describeDocker('artifacts of a run that is cancelled while no worker is there', () => {
  const t = engineFor('pglite', { agents: AGENTS, dockerHost: DOCKER_HOST, artifacts: dir, role: 'api' });
  const waiting = async (): Promise<string> => {
    const working = await t.restart({ role: 'all' });
    const { runId } = await working.submitTask(task('asks'), ADMIN);
    expect((await restOf(working, runId)).status).toBe('paused');
    await t.restart();
    expect(await t.engine.cancelRun(runId, 'enough', ADMIN)).toMatchObject({ status: 'queued' });
    return runId;
  };

  it('are kept by the next worker', async () => {
    const runId = await waiting();
    expect(await t.engine.cancelRun(runId, 'at once', ADMIN)).toMatchObject({ status: 'queued' });
    await t.restart({ role: 'all' });
    expect(await restOf(t.engine, runId)).toMatchObject({ status: 'cancelled' });
    expect((await t.engine.listArtifacts(runId, ADMIN)).items).toHaveLength(2);
    expect(await dataOf(t.engine, runId, 'run.cancel_requested')).toMatchObject([{ reason: 'enough' }]);
    expect(await dataOf(t.engine, runId, 'run.cancelled')).toMatchObject([{ reason: 'enough' }]);
    expect(await t.engine.verifyRun(runId, ADMIN)).toMatchObject({ ok: true, complete: true, rows: [] });
  });

  it('are left out, with the reason, when a later request ends the run', async () => {
    const runId = await waiting();
    const asked = new Date(Date.now() - 121_000);
    await t.between((knex) => knex('holdfast.runs').where({ id: runId }).update({ cancel_requested_at: asked }));
    expect(await t.engine.cancelRun(runId, 'at once', ADMIN)).toMatchObject({ status: 'cancelled' });
    const why = 'no worker kept them after the run was cancelled while it waited';
    const none = { items: [], leftOut: [{ path: 'all files', why }], more: 0 };
    expect(await t.engine.listArtifacts(runId, ADMIN)).toEqual(none);
    expect(await dataOf(t.engine, runId, 'run.cancelled')).toMatchObject([{ reason: 'enough', artifacts: none }]);
    await t.restart({ role: 'all' });
    expect(await t.engine.verifyRun(runId, ADMIN)).toMatchObject({ ok: true, complete: true });
    expect((await t.engine.replayRun(runId, {}, ADMIN)).differences).toEqual([]);
  });

  it('are left out, with the reason, when no worker that is there has kept them in time', async () => {
    const runId = await waiting();
    const late = async (seconds: number) => {
      const asked = new Date(Date.now() - 601_000);
      await t.between(async (knex) => {
        await knex('holdfast.runs').where({ id: runId }).update({ cancel_requested_at: asked });
        await knex('holdfast.run_deadlines')
          .where({ run_id: runId })
          .update({ ends_at: knex.raw("now() - ? * interval '1 second'", [seconds]) });
      });
    };
    // Of the workers that are there, none has the container engine.
    const others = { role: 'all', dockerHost: 'unix:///nowhere/engine.sock' } as const;
    await late(3600);
    await t.restart(others);
    const isLater = async (): Promise<boolean> =>
      t.between(async (knex) => {
        const rows: unknown[] = await knex('holdfast.run_deadlines')
          .where({ run_id: runId })
          .where('ends_at', '>', knex.fn.now());
        return rows.length === 1;
      });
    await setTimeout(5000);
    expect(await t.engine.getRun(runId, ADMIN)).toMatchObject({ status: 'queued' });
    expect(await isLater()).toBe(true);
    await late(1);
    await t.restart(others);
    expect(await restOf(t.engine, runId)).toMatchObject({ status: 'cancelled' });
    const why = 'no worker kept them after the run was cancelled while it waited';
    expect(await dataOf(t.engine, runId, 'run.cancelled')).toMatchObject([
      { reason: 'enough', artifacts: { leftOut: [{ path: 'all files', why }] } },
    ]);
    expect(await t.engine.verifyRun(runId, ADMIN)).toMatchObject({ ok: true, complete: true });
  });
});
