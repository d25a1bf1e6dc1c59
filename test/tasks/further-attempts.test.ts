import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { DOCKER_HOST, describeDockerSlowly } from '../harness/docker.js';
import { ADMIN, BOB, engineFor, eventsOf, restOf } from '../harness/engine.js';
import { dockerOf, labelled, leftOn } from '../harness/on-docker.js';
import { type AskedTask, BEGIN, submitAsked } from './asked-task.js';
import { asking } from './asking.js';

/** Further attempts of tasks: with the files of the one before where they are kept, else from the beginning. */

const LONG = { timeout: 120_000 };
const WAIT =
  'echo "has $(cat file)" >>/seen/log; [ -e /seen/go ] || { touch /seen/begun; sleep 1000; }; echo two >>file';
const PAUSING = [BEGIN, '? On?', `$ ${WAIT}`];

describeDockerSlowly('further attempts of tasks', () => {
  const t = engineFor('pglite', {
    agents: [asking],
    hostFolders: [{ path: '/tmp', writable: true }],
    retries: { most: 2, firstMs: 1, longestMs: 1 },
    dockerHost: DOCKER_HOST,
  });
  const docker = dockerOf(DOCKER_HOST);
  const mine: AskedTask[] = [];
  afterAll(() => {
    for (const { dir } of mine) rmSync(dir, { recursive: true, force: true });
  });

  const submit = async (lines: (dir: string) => readonly string[], snapshots: object | null) => {
    const task = await submitAsked(t.engine, lines, snapshots);
    mine.push(task);
    return task;
  };
  const seen = (id: string) => t.engine.getTask(id, ADMIN);
  const until = (id: string, status: string) => expect.poll(async () => (await seen(id)).status, LONG).toBe(status);
  const answer = async (runId: string) => {
    const { items } = await t.engine.listInterruptions({ status: 'pending', runId, limit: 10 }, BOB);
    await t.engine.decide(String(items[0]?.id), { verdict: 'answer', value: 'yes' }, BOB);
  };
  /** The files of a pause are kept when it can be forked. The fork is someone's, and no attempt. */
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
  const stop = async ({ runId, dir }: AskedTask) => {
    await expect.poll(() => existsSync(join(dir, 'begun')), LONG).toBe(true);
    writeFileSync(join(dir, 'go'), '');
    const found = await docker.listContainers(labelled(runId));
    const own = found.find(({ Labels, State }) => Labels['holdfast.purpose'] === 'run' && State === 'running');
    await docker.getContainer(String(own?.Id)).kill();
  };
  const triedOf = async (id: string) => (await seen(id)).tried ?? [];
  const codesOf = async (id: string) => (await triedOf(id)).map(({ error }) => error?.code ?? null);
  const nothingLeft = async (id: string) => {
    for (const { runId } of await triedOf(id)) await expect.poll(() => leftOn(DOCKER_HOST, runId), LONG).toBe(0);
  };
  const erase = async (id: string) => {
    for (const { runId } of await triedOf(id)) await t.engine.eraseRun(runId, { reason: 'it is over' }, ADMIN);
  };

  /** Nothing that came before the pause is done again. */
  const goesOnAfterPause = async () => {
    // They go with their run, and not before the next attempt has them.
    const task = await submit(() => PAUSING, { keepHours: 0 });
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
    await erase(task.id);
    expect((await triedOf(task.id)).map((one) => one.runId)).toEqual([runId, task.runId]);
  };

  const begunAnew = async (snapshots: object | null, before: (task: AskedTask) => Promise<void>, codes: string[]) => {
    const task = await submit(() => PAUSING, snapshots);
    await until(task.id, 'paused');
    await before(task);
    await answer(task.runId);
    await stop(task);
    await expect.poll(async () => (await seen(task.id)).attempts, LONG).toBe(codes.length + 1);
    await until(task.id, 'paused');
    await answer((await seen(task.id)).runId);
    await until(task.id, 'completed');
    expect(task.log()).toEqual(['began', 'has one', 'began', 'has one']);
    expect(await seen(task.id)).toMatchObject({ result: { type: 'success' } });
    expect(await codesOf(task.id)).toEqual([null, ...codes]);
    await erase(task.id);
    await nothingLeft(task.id);
  };

  const loseKept = async ({ runId }: AskedTask) => {
    await kept(runId);
    const { Volumes } = await docker.listVolumes(labelled(runId));
    const isKept = ({ Labels }: { Labels: Record<string, string> }) => Labels['holdfast.purpose'] === 'snapshot';
    for (const { Id } of (await docker.listContainers(labelled(runId))).filter(isKept))
      await docker.getContainer(Id).remove();
    for (const { Name } of Volumes.filter(isKept)) await docker.getVolume(Name).remove();
  };

  /** As often as it may; who puts it back has it begin again. */
  const goesOnAtEnd = async () => {
    const lines = (dir: string) => [BEGIN, `! ${dir}/broken`, '$ echo two >>file'];
    const task = await submit(
      (dir) => {
        writeFileSync(join(dir, 'broken'), '');
        return lines(dir);
      },
      { keepHours: 1 },
    );
    await until(task.id, 'failed');
    expect(await codesOf(task.id)).toEqual(['model_failed', 'model_failed', 'model_failed']);
    const [third, second, first] = await triedOf(task.id);
    expect([first?.runId, task.log()]).toEqual([task.runId, ['began']]);
    for (const [one, from] of [
      [third, second],
      [second, first],
    ])
      expect(await t.engine.getRun(String(one?.runId), ADMIN)).toMatchObject({ forkedFrom: { runId: from?.runId } });
    rmSync(join(task.dir, 'broken'));
    await t.engine.requeueTask(task.id, {}, ADMIN);
    await until(task.id, 'completed');
    expect(task.log()).toEqual(['began', 'began']);
    expect(await seen(task.id)).toMatchObject({ attempts: 4, result: { type: 'success' } });
    await erase(task.id);
    await nothingLeft(task.id);
  };

  it('goes on with the files of the pause or of the end, and begins again where there are none', LONG, async () => {
    await Promise.all([
      goesOnAfterPause(),
      goesOnAtEnd(),
      begunAnew(null, async () => {}, ['command_unknown']),
      begunAnew({ keepHours: 1 }, loseKept, ['environment_lost', 'command_unknown']),
    ]);
  });

  it('begins again with an agent that is another one by now, and after a log that does not verify', LONG, async () => {
    await t.restart({ retries: { most: 1, firstMs: 3_600_000, longestMs: 3_600_000 } });
    const lines = (dir: string) => {
      writeFileSync(join(dir, 'broken'), '');
      return [BEGIN, `! ${dir}/broken`, '$ echo two >>file'];
    };
    const three = [0, 1, 2].map(() => submit(lines, { keepHours: 1 }));
    const [other, granted, broken] = (await Promise.all(three)) as [AskedTask, AskedTask, AskedTask];
    for (const { id, dir } of [other, granted, broken]) {
      await expect.poll(async () => (await seen(id)).retryAt, LONG).not.toBeNull();
      rmSync(join(dir, 'broken'));
    }
    await t.between(async (knex) => {
      await knex('holdfast.runs').where({ id: other.runId }).update({ agent_hash: 'sha256:other' });
      await knex('holdfast.runs').where({ id: granted.runId }).update({ grants: '[]' });
      await knex('holdfast.events').where({ run_id: broken.runId, seq: 3 }).update({ at: '2001-01-01T00:00:00.000Z' });
      await knex('holdfast.tasks').whereIn('id', [other.id, granted.id, broken.id]).update({ retry_at: knex.fn.now() });
    });
    for (const task of [other, granted, broken]) {
      await until(task.id, 'completed');
      const { runId, attempts } = await seen(task.id);
      expect([attempts, task.log()]).toEqual([2, ['began', 'began']]);
      expect(await t.engine.getRun(runId, ADMIN)).toMatchObject({ forkedFrom: null });
      await erase(task.id);
      await nothingLeft(task.id);
    }
  });
});
