import { randomBytes } from 'node:crypto';
import { Agent } from '@openai/agents';
import { afterAll, expect, it } from 'vitest';
import { DockerEngine } from '../../../src/containers/docker/docker-engine.js';
import { askHumanTool, bashTool, defineAgent } from '../../../src/index.js';
import { instanceId } from '../../../src/storage/containers/environments.js';
import { BUSYBOX, DOCKER_HOST, describeDocker } from '../../harness/docker.js';
import { ADMIN, decideAndRest, engineFor, eventsOf, restOf, runToRest } from '../../harness/engine.js';
import { containersOn, dockerOf, labelled, volumesOn } from '../../harness/on-docker.js';
import { call, scripted } from '../../harness/script.js';

/** What is kept of the files of runs, and what forks and retries begin with. */

const things = async (runId: string): Promise<readonly string[]> => {
  const containers = await containersOn(DOCKER_HOST, runId);
  const volumes = await volumesOn(DOCKER_HOST, runId);
  const images = await dockerOf(DOCKER_HOST).listImages(labelled(runId));
  return [
    ...containers.map(({ Labels, State }) => `${Labels['holdfast.purpose']} ${State}`),
    ...volumes.map(({ Labels }) => `${Labels['holdfast.purpose']} volume`),
    ...images.map(({ Labels }) => `${Labels['holdfast.purpose']} image`),
  ].sort();
};
const SNAPSHOT = ['snapshot created', 'snapshot volume', 'snapshot volume'];
const PAUSED = ['run exited', 'run volume', 'run volume', ...SNAPSHOT];

const bash = (command: string, id: string) => call('bash', { command }, id);
const agent = (name: string, outputs: Parameters<typeof scripted>[0], changes: object) =>
  defineAgent({
    agent: new Agent({ name, model: scripted(outputs), tools: [bashTool(), askHumanTool()] }),
    grants: ['container:exec:shell', 'human:ask:question'],
    environment: { image: BUSYBOX, limits: { memoryMb: 128, maxProcesses: 64 }, ...changes },
  });
const SCRIPT = [
  [bash('echo one >>file; echo root 2>/dev/null >/anyone/file', 'one')],
  [call('ask_human', { question: 'On?' }, 'ask')],
  [bash('echo two >>file; cat file', 'two')],
  [bash('echo three >>file; cat file; cat /anyone/file 2>/dev/null', 'three')],
];

const config = {
  dockerHost: DOCKER_HOST,
  workerId: `box-${randomBytes(3).toString('hex')}`,
  agents: [
    agent('keeper', SCRIPT, { snapshots: { keepHours: 1 } }),
    agent('rooted', SCRIPT, { snapshots: { keepHours: 1 }, security: { readOnlyRoot: false } }),
    agent('brief', SCRIPT, { snapshots: { keepHours: 0 } }),
    agent('none', SCRIPT, {}),
  ],
};

describeDocker('snapshots of environments', () => {
  const t = engineFor('pglite', config);
  const mine: string[] = [];
  const started = async (name: string, maxTurns?: number) => {
    const { id } = await t.engine.startRun({ agent: name, input: 'go', ...(maxTurns && { maxTurns }) }, ADMIN);
    mine.push(id);
    return restOf(t.engine, id);
  };
  const answer = (id: string) => decideAndRest(t.engine, id, { verdict: 'answer', value: 'yes' });
  /** What is being kept is whole a moment after it is there. */
  const fork = async (id: string, at: number) => {
    for (;;) {
      const made = await t.engine.forkRun(id, { at }, ADMIN).catch((error: Error) => {
        if (!error.message.includes('are not kept')) throw error;
      });
      if (made !== undefined) {
        mine.push(made.id);
        return restOf(t.engine, made.id);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const seqOf = async (id: string, kind: string, callId?: string): Promise<number> =>
    (await eventsOf(t.engine, id, kind)).findLast(
      ({ data }) => callId === undefined || (data as { callId?: string }).callId === callId,
    )?.seq ?? 0;
  const outputs = async (id: string) =>
    Object.fromEntries(
      (await eventsOf(t.engine, id, 'call.finished')).map(({ data }) => {
        const { callId, outcome } = data as { callId: string; outcome: { output: { stdout?: string } } };
        return [callId, outcome.output.stdout];
      }),
    );
  const settledAs = async (id: string, expected: readonly string[]) => {
    const wanted = [...expected].sort();
    for (let tries = 0; tries < 400; tries++) {
      if (JSON.stringify(await things(id)) === JSON.stringify(wanted)) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(await things(id)).toEqual(wanted);
  };
  afterAll(async () => {
    const engine = new DockerEngine({ host: DOCKER_HOST, certPath: null }, { patienceMs: 1000 });
    const { signal } = new AbortController();
    const instance = await t.between((knex) => instanceId(knex));
    for (const runId of mine) {
      for (const purpose of ['run', 'snapshot'] as const) {
        for (const attempt of [1, 2]) await engine.remove({ instance, runId, purpose, attempt }, signal);
      }
    }
  });

  it('a fork of a pause has the files of the pause, and both go on apart', async () => {
    const { id, status } = await started('keeper');
    expect(status).toBe('paused');
    await settledAs(id, PAUSED);
    const forked = await fork(id, await seqOf(id, 'run.paused'));
    expect(forked.status).toBe('paused');
    expect((await answer(id)).status).toBe('completed');
    expect((await answer(forked.id)).status).toBe('completed');
    for (const one of [id, forked.id]) {
      expect(await outputs(one)).toMatchObject({ two: 'one\ntwo\n', three: 'one\ntwo\nthree\n' });
      expect(await t.engine.verifyRun(one, ADMIN)).toMatchObject({ ok: true });
    }
    await settledAs(id, [...SNAPSHOT, ...SNAPSHOT]);
    const later = t.engine.forkRun(id, { at: await seqOf(id, 'call.finished', 'two') }, ADMIN);
    await expect(later).rejects.toMatchObject({
      code: 'fork_invalid',
      message: expect.stringContaining(`event ${await seqOf(id, 'run.paused')}, `),
    });
  });

  it('a fork of where an answer was given goes on from there, also when its source is over', async () => {
    const { id } = await started('keeper');
    await settledAs(id, PAUSED);
    await answer(id);
    await settledAs(id, [...SNAPSHOT, ...SNAPSHOT]);
    const forked = await fork(id, await seqOf(id, 'interruption.decided'));
    expect(forked).toMatchObject({ status: 'completed' });
    expect(await outputs(forked.id)).toMatchObject({ two: 'one\ntwo\n' });
    // What has no snapshot of its own has that of whose files it has.
    const again = await fork(forked.id, await seqOf(forked.id, 'interruption.decided'));
    expect(await outputs(again.id)).toMatchObject({ two: 'one\ntwo\n' });
  });

  it('a retry has the files of the end', async () => {
    const { id } = await started('keeper', 3);
    await settledAs(id, PAUSED);
    const failed = await answer(id);
    expect(failed).toMatchObject({ status: 'failed' });
    await settledAs(id, [...SNAPSHOT, ...SNAPSHOT]);
    const { id: again } = await t.engine.retryRun(id, { maxTurns: 9 }, ADMIN);
    mine.push(again);
    expect(await restOf(t.engine, again)).toMatchObject({ status: 'completed' });
    expect(await outputs(again)).toMatchObject({ two: 'one\ntwo\n', three: 'one\ntwo\nthree\n' });
  });

  it('the root is kept too, where it can be written to', async () => {
    const { id } = await started('rooted');
    await settledAs(id, [...PAUSED, 'snapshot image']);
    const forked = await fork(id, await seqOf(id, 'run.paused'));
    await t.engine.cancelRun(id, null, ADMIN);
    expect((await answer(forked.id)).status).toBe('completed');
    expect(await outputs(forked.id)).toMatchObject({ three: 'one\ntwo\nthree\nroot\n' });
  });

  it('they go: with the run, or when their time is over, and not while a fork is to begin with them', async () => {
    const brief = await started('brief');
    await settledAs(brief.id, PAUSED);
    const forked = await fork(brief.id, await seqOf(brief.id, 'run.paused'));
    await answer(brief.id);
    await settledAs(brief.id, SNAPSHOT);
    expect((await answer(forked.id)).status).toBe('completed');
    await settledAs(brief.id, []);
    await settledAs(forked.id, []);
    const kept = await started('keeper');
    await settledAs(kept.id, PAUSED);
    await t.engine.cancelRun(kept.id, null, ADMIN);
    await settledAs(kept.id, [...SNAPSHOT, ...SNAPSHOT]);
    await t.between((knex) =>
      knex('holdfast.runs')
        .where({ id: kept.id })
        .update({ completed_at: new Date(Date.now() - 3_700_000) }),
    );
    await settledAs(kept.id, []);
  });

  it('without them, what is refused says how to have them', async () => {
    const run = await runToRest(t.engine, 'none');
    mine.push(run.id);
    await settledAs(run.id, ['run exited', 'run volume', 'run volume']);
    await expect(t.engine.forkRun(run.id, { at: await seqOf(run.id, 'run.paused') }, ADMIN)).rejects.toMatchObject({
      code: 'fork_invalid',
      hint: expect.stringContaining('snapshots'),
    });
  });
});
