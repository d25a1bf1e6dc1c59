import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Engine, SubmitTask } from '../../src/index.js';
import { killEngine, ownEngine } from '../containers/own-engine.js';
import { BUSYBOX, DOCKER_HOST, describeDockerSlowly } from '../harness/docker.js';
import { ADMIN, openTestEngine, type TestEngine } from '../harness/engine.js';
import { dockerOf, labelled, leftOn } from '../harness/on-docker.js';
import { noSmallDisk, openSmallDisk, type SmallDisk } from '../harness/small-disk.js';
import { obedient, told } from './obedient.js';
import { ownVersion } from './own-version.js';

/** Agents that use up what there is, and engines that are full or go away: a result with a name, and nothing is left. */

const MEBIBYTE = 1024 * 1024;
const THOUSAND = 1024 * MEBIBYTE;
const SOLUTION = 'echo one >first; echo two >second';

const submit = (engine: Engine, commands: readonly string[], more: object = {}) => {
  const task = {
    ...{ name: 'two-files', version: '1.0.0', category: 'shell', difficulty: 'easy' },
    instruction: told(...commands),
    environment: { image: BUSYBOX, limits: { memoryMb: 128, maxProcesses: 64 }, ...more },
    verification: {
      tests: [
        { name: 'first', command: 'grep -x one first' },
        { name: 'second', command: 'grep -x two second' },
      ],
    },
  };
  return engine.submitTask({ task: ownVersion(task), agent: 'obedient' } as SubmitTask, ADMIN);
};

const over = async (engine: Engine, commands: readonly string[], more: object = {}) => {
  const { id, runId } = await submit(engine, commands, more);
  await expect
    .poll(async () => (await engine.getRun(runId, ADMIN, { waitMs: 20_000 })).completedAt, { timeout: 240_000 })
    .not.toBeNull();
  return engine.getTask(id, ADMIN);
};

describeDockerSlowly('an agent that uses up what there is', () => {
  let place: TestEngine;
  beforeAll(async () => {
    const retries = { most: 2, firstMs: 1, longestMs: 1 };
    place = await openTestEngine('pglite', {
      ...{ agents: [obedient], retries, dockerHost: DOCKER_HOST },
      hostFolders: [{ path: '/tmp', writable: true }],
    });
  });
  afterAll(() => place.close());

  it('goes on with its next command, and so does who is beside it; what it prints is in no process of ours', async () => {
    const before = process.memoryUsage().rss;
    let most = before;
    const look = setInterval(() => {
      most = Math.max(most, process.memoryUsage().rss);
    }, 20);
    const bomb = 'bomb() { bomb | bomb & }; bomb; sleep 1';
    const files = ['/tmp', '/dev/shm'].map((dir) => `head -c 400000000 /dev/zero >${dir}/file`);
    const text = 'a=x; while :; do a=$a$a; done';
    const [task, beside] = await Promise.all([
      over(place.engine, [bomb, ...files, text, `head -c ${THOUSAND} /dev/zero`, SOLUTION]),
      over(place.engine, [SOLUTION]),
    ]);
    clearInterval(look);
    for (const one of [task, beside]) {
      expect(one).toMatchObject({ status: 'completed', attempts: 1, result: { type: 'success' } });
      await expect.poll(() => leftOn(DOCKER_HOST, one.runId), { timeout: 30_000 }).toBe(0);
    }
    expect(most - before).toBeLessThan(256 * MEBIBYTE);
  }, 300_000);

  it('begins again when its container stops under a command, and leaves nothing of the first attempt', async () => {
    const seen = mkdtempSync('/tmp/holdfast-test-');
    chmodSync(seen, 0o777);
    const wait = `[ -e /seen/go ] || { touch /seen/begun; sleep 1000; }; ${SOLUTION}`;
    const mounts = [{ source: seen, target: '/seen', readOnly: false }];
    const { id, runId } = await submit(place.engine, ['echo one >>first', wait], { mounts });
    await expect.poll(() => existsSync(join(seen, 'begun')), { timeout: 60_000 }).toBe(true);
    writeFileSync(join(seen, 'go'), '');
    const [found] = await dockerOf(DOCKER_HOST).listContainers(labelled(runId));
    await dockerOf(DOCKER_HOST).getContainer(String(found?.Id)).kill();
    await expect
      .poll(async () => (await place.engine.getTask(id, ADMIN)).status, { timeout: 120_000 })
      .toBe('completed');
    const task = await place.engine.getTask(id, ADMIN);
    expect(task).toMatchObject({ attempts: 2, result: { type: 'success' } });
    expect((task.tried ?? []).map(({ error }) => error?.code ?? null)).toEqual([null, 'command_unknown']);
    expect(await place.engine.listInterruptions({ status: 'pending', limit: 10 }, ADMIN)).toMatchObject({ items: [] });
    for (const one of task.tried ?? [])
      await expect.poll(() => leftOn(DOCKER_HOST, one.runId), { timeout: 30_000 }).toBe(0);
    rmSync(seen, { recursive: true });
  }, 300_000);
});

const why = noSmallDisk();
const suiteOf = why === null ? describeDockerSlowly : (name: string) => describe.skip(`${name} (${why})`, () => {});

suiteOf('an engine of which the disk is full, or which goes away', () => {
  let disk: SmallDisk;
  let host = '';
  let place: TestEngine;
  beforeAll(async () => {
    disk = openSmallDisk(400);
    host = ownEngine('up', disk.dir);
    const retries = { most: 0 };
    place = await openTestEngine('pglite', { agents: [obedient], retries, dockerHost: host, dockerPatienceMs: 1000 });
  }, 120_000);
  afterAll(async () => {
    await place.close();
    ownEngine('down', disk.dir);
    disk.close();
  });
  // The file is in memory, which is the container's here.
  const roomy = { limits: { memoryMb: 1024, maxProcesses: 64 } };
  const FILLING = 'head -c 900000000 /dev/zero >file';

  it('a command that fills it fails by itself, and the one after it by name', async () => {
    const mended = await over(place.engine, [`${FILLING} || rm file`, SOLUTION], roomy);
    expect(mended).toMatchObject({ result: { type: 'success' } });
    const full = await over(place.engine, [FILLING, SOLUTION], roomy);
    expect(full).toMatchObject({ status: 'failed', result: { type: 'error', code: 'environment_failed' } });
    for (const { runId } of [mended, full]) await expect.poll(() => leftOn(host, runId), { timeout: 30_000 }).toBe(0);
  }, 300_000);

  it('who works in it when it goes ends by name, and nothing is left when it is back', async () => {
    const { id, runId } = await submit(place.engine, ['sleep 1000']);
    await expect.poll(() => leftOn(host, runId), { timeout: 30_000 }).toBe(3);
    await killEngine(disk.dir);
    const { status } = await place.engine.getRun(runId, ADMIN, { waitMs: 60_000 });
    expect(status).toBe('failed');
    expect(await place.engine.getTask(id, ADMIN)).toMatchObject({
      result: { type: 'error', code: 'engine_unreachable' },
    });
    ownEngine('up', disk.dir);
    await expect.poll(() => leftOn(host, runId), { timeout: 60_000 }).toBe(0);
  }, 200_000);
});
