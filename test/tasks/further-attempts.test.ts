import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import type { SubmitTask } from '../../src/index.js';
import { BUSYBOX, DOCKER_HOST, describeDockerSlowly } from '../harness/docker.js';
import { ADMIN, BOB, engineFor, eventsOf, restOf } from '../harness/engine.js';
import { dockerOf, labelled, leftOn } from '../harness/on-docker.js';
import { asking } from './asking.js';

/** Further attempts of tasks: with the files of the one before where they are kept, else from the beginning. */

const LONG = { timeout: 120_000 };
const BEGIN = 'echo began >>/seen/log; echo one >>file';
const WAIT =
  'echo "has $(cat file)" >>/seen/log; [ -e /seen/go ] || { touch /seen/begun; sleep 1000; }; echo two >>file';

describeDockerSlowly('further attempts of tasks', () => {
  const failing = new Set<string>();
  const t = engineFor('pglite', {
    agents: [asking((word) => failing.delete(word))],
    retries: { most: 2, firstMs: 1, longestMs: 1 },
    dockerHost: DOCKER_HOST,
  });
  const dirs: string[] = [];
  afterAll(() => {
    for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
  });

  const submit = async (lines: readonly string[], snapshots: object | null) => {
    const seen = mkdtempSync('/tmp/holdfast-test-');
    dirs.push(seen);
    chmodSync(seen, 0o777);
    const environment = {
      ...{ image: BUSYBOX, limits: { memoryMb: 128, maxProcesses: 64 }, snapshots },
      mounts: [{ source: seen, target: '/seen', readOnly: false }],
    };
    const task = {
      ...{ name: 'two-lines', version: '1.0.0', category: 'shell', difficulty: 'easy', environment },
      instruction: lines.join('\n'),
      initialFiles: { given: 'given\n' },
      verification: { tests: [{ name: 'both', command: '[ "$(cat given file | tr "\\n" " ")" = "given one two " ]' }] },
    };
    const { id, runId } = await t.engine.submitTask(
      { task, agent: 'asking', priority: 7, metadata: { team: 'red' } } as SubmitTask,
      ADMIN,
    );
    return { id, runId, log: () => readFileSync(join(seen, 'log'), 'utf8').trim().split('\n'), seen };
  };
  const seen = (id: string) => t.engine.getTask(id, ADMIN);
  const until = (id: string, status: string) => expect.poll(async () => (await seen(id)).status, LONG).toBe(status);
  const answer = async (runId: string) => {
    const { items } = await t.engine.listInterruptions({ status: 'pending', runId, limit: 10 }, BOB);
    await t.engine.decide(String(items[0]?.id), { verdict: 'answer', value: 'yes' }, BOB);
  };
  /** The files of a pause are kept when it can be forked. The fork is somebody's, and no attempt. */
  const kept = async (runId: string) => {
    const [pause] = await eventsOf(t.engine, runId, 'run.paused');
    const forked = () =>
      t.engine.forkRun(runId, { at: pause?.seq ?? 0 }, ADMIN).then(
        ({ id }) => id,
        () => null,
      );
    let fork: string | null = null;
    await expect.poll(async () => (fork = await forked()), LONG).not.toBeNull();
    await restOf(t.engine, String(fork));
    await t.engine.cancelRun(String(fork), null, ADMIN);
  };
  /** Stops the container of a run under its command. */
  const stop = async ({ runId, seen: dir }: { runId: string; seen: string }) => {
    await expect.poll(() => existsSync(join(dir, 'begun')), LONG).toBe(true);
    writeFileSync(join(dir, 'go'), '');
    const found = await dockerOf(DOCKER_HOST).listContainers(labelled(runId));
    const own = found.find(({ Labels, State }) => Labels['holdfast.purpose'] === 'run' && State === 'running');
    await dockerOf(DOCKER_HOST).getContainer(String(own?.Id)).kill();
  };
  const codesOf = async (id: string) => ((await seen(id)).tried ?? []).map(({ error }) => error?.code ?? null);
  const nothingLeft = async (id: string) => {
    for (const { runId } of (await seen(id)).tried ?? [])
      await expect.poll(() => leftOn(DOCKER_HOST, runId), LONG).toBe(0);
  };

  it('has the files of the pause, and does nothing again that came before it', LONG, async () => {
    // They go with their run, and not before the next attempt has them.
    const task = await submit([`$ ${BEGIN}`, '? On?', `$ ${WAIT}`], { keepHours: 0 });
    await until(task.id, 'paused');
    await kept(task.runId);
    await answer(task.runId);
    await stop(task);
    await until(task.id, 'completed');
    const { runId, tried = [], ...over } = await seen(task.id);
    expect(over).toMatchObject({ attempts: 2, result: { type: 'success' }, reward: expect.any(Number) });
    expect(await codesOf(task.id)).toEqual([null, 'command_unknown']);
    expect(tried.map((one) => one.runId)).toEqual([runId, task.runId]);
    expect(task.log()).toEqual(['began', 'has one', 'has one']);
    const [last, first] = await Promise.all([runId, task.runId].map((one) => t.engine.getRun(one, ADMIN)));
    expect(last).toMatchObject({
      ...{ forkedFrom: { runId: task.runId }, turns: 4, limits: first?.limits, metadata: first?.metadata },
    });
    expect(await t.engine.verifyRun(runId, ADMIN)).toMatchObject({ ok: true, complete: true });
    expect((await t.engine.listRewards(runId, { after: 0, limit: 5 }, ADMIN)).items).toHaveLength(1);
    const { items } = await t.engine.listSystemEvents({ after: 0, limit: 200, taskId: task.id }, ADMIN);
    expect(items.filter(({ kind }) => kind === 'task.assigned').map((one) => [one.runId, one.data])).toEqual([
      [task.runId, { attempt: 1 }],
      [runId, { attempt: 2 }],
    ]);
    await nothingLeft(task.id);
    await t.engine.eraseRun(runId, { reason: 'asked' }, ADMIN);
    expect((await seen(task.id)).tried?.map((one) => one.runId)).toEqual([runId, task.runId]);
  });

  it('begins anew without snapshots, and where what was kept is gone', LONG, async () => {
    const none = await submit([`$ ${BEGIN}`, '? On?', `$ ${WAIT}`], null);
    const gone = await submit([`$ ${BEGIN}`, '? On?', `$ ${WAIT}`], { keepHours: 1 });
    for (const { id } of [none, gone]) await until(id, 'paused');
    await kept(gone.runId);
    for (const { Id, Labels } of await dockerOf(DOCKER_HOST).listContainers(labelled(gone.runId)))
      if (Labels['holdfast.purpose'] === 'snapshot') await dockerOf(DOCKER_HOST).getContainer(Id).remove({ v: true });
    const { Volumes } = await dockerOf(DOCKER_HOST).listVolumes(labelled(gone.runId));
    for (const { Name, Labels } of Volumes)
      if (Labels['holdfast.purpose'] === 'snapshot') await dockerOf(DOCKER_HOST).getVolume(Name).remove();
    for (const task of [none, gone]) {
      await answer(task.runId);
      await stop(task);
      await expect.poll(async () => (await seen(task.id)).runId, LONG).not.toBe(task.runId);
      await until(task.id, 'paused');
      await answer((await seen(task.id)).runId);
      await until(task.id, 'completed');
      expect(task.log()).toEqual(['began', 'has one', 'began', 'has one']);
      expect(await seen(task.id)).toMatchObject({ result: { type: 'success' } });
    }
    expect(await codesOf(none.id)).toEqual([null, 'command_unknown']);
    expect(await codesOf(gone.id)).toEqual([null, 'environment_lost', 'command_unknown']);
    for (const { runId } of (await seen(gone.id)).tried ?? [])
      await t.engine.eraseRun(runId, { reason: 'the test is over' }, ADMIN);
    for (const { id } of [none, gone]) await nothingLeft(id);
  });

  it('has the files of the end where nothing was at work', LONG, async () => {
    failing.add('once');
    const task = await submit([`$ ${BEGIN}`, '! once', '$ echo two >>file'], { keepHours: 1 });
    await until(task.id, 'completed');
    expect(await codesOf(task.id)).toEqual([null, 'model_failed']);
    expect(task.log()).toEqual(['began']);
    expect(await seen(task.id)).toMatchObject({ attempts: 2, result: { type: 'success' } });
    for (const { runId } of (await seen(task.id)).tried ?? [])
      await t.engine.eraseRun(runId, { reason: 'the test is over' }, ADMIN);
    await nothingLeft(task.id);
  });
});
