import { randomBytes } from 'node:crypto';
import Docker from 'dockerode';
import { expect, it } from 'vitest';
import { lookAtEngine } from '../../src/containers/docker/look-at-engine.js';
import { environmentName } from '../../src/core/containers/environment.js';
import { BUSYBOX, DOCKER_HOST, describeDocker } from '../harness/docker.js';
import { endedOf, INSTANCE, never, newEngine, newIdentity, noSecrets, openedFor, shell } from './environments.js';

/** How an environment comes to be, is found again, and goes. */

const docker = new Docker({ socketPath: DOCKER_HOST.slice('unix://'.length) });
const missing = 'there is no such thing';

describeDocker('environments', () => {
  const { engine, open } = openedFor();
  const found = async (name: string) => (await docker.getContainer(name).inspect()).State;

  it('ten that open the same one end at the same container, started once', async () => {
    const identity = newIdentity();
    let starts = 0;
    const options = { begun: false, starting: async () => void starts++, secrets: noSecrets, signal: never };
    await open(identity);
    const again = await Promise.all(Array.from({ length: 10 }, () => newEngine().open(identity, options)));
    expect(again).toHaveLength(10);
    expect(starts).toBe(0);
    const all = await docker.listContainers({ all: true, filters: { label: [`holdfast.run=${identity.runId}`] } });
    expect(all).toHaveLength(1);
  });

  it('ten that make the same one at once make one', async () => {
    const identity = newIdentity();
    const options = { begun: false, starting: async () => {}, secrets: noSecrets, signal: never };
    await Promise.all(Array.from({ length: 10 }, () => newEngine().open(identity, options)));
    const environment = await open(identity);
    expect(endedOf(await environment.run(shell('echo up'), never)).stdout.text).toBe('up\n');
    const all = await docker.listContainers({ all: true, filters: { label: [`holdfast.run=${identity.runId}`] } });
    expect(all).toHaveLength(1);
  });

  it('stops, keeps its files, and goes on', async () => {
    const identity = newIdentity();
    const before = await open(identity);
    await before.run(shell('echo kept >/work/file; sleep 1000 &'), never);
    await engine.stop(identity, never);
    expect(await found(environmentName(identity))).toMatchObject({ Running: false });
    await engine.stop(identity, never);
    const after = await open(identity, true);
    const seen = endedOf(await after.run(shell('cat /work/file; ps | grep -c "[s]leep 1000"'), never));
    expect(seen.stdout.text).toBe('kept\n0\n');
  });

  it('stops one that is frozen, and wakes one that is frozen', async () => {
    const identity = newIdentity();
    const environment = await open(identity);
    await docker.getContainer(environmentName(identity)).pause();
    await open(identity, true);
    expect(await found(environmentName(identity))).toMatchObject({ Paused: false, Running: true });
    await docker.getContainer(environmentName(identity)).pause();
    await engine.stop(identity, never);
    expect(await found(environmentName(identity))).toMatchObject({ Running: false });
    await open(identity, true);
    expect(endedOf(await environment.run(shell('echo up'), never)).stdout.text).toBe('up\n');
  });

  it('one that was begun and is gone is lost; one that never was is made', async () => {
    const identity = newIdentity();
    await expect(open(identity, true)).rejects.toMatchObject({ code: 'environment_lost' });
    await open(identity);
    await docker.getContainer(environmentName(identity)).remove({ force: true });
    await expect(open(identity, true)).rejects.toMatchObject({ code: 'environment_lost' });
  });

  it('another container of the name is a conflict', async () => {
    const identity = newIdentity();
    await open(identity);
    await expect(open({ ...identity, specHash: 'another' })).rejects.toMatchObject({ code: 'environment_conflict' });
  });

  it('says what cannot start, and that it cannot the second time', async () => {
    const identity = newIdentity({ command: ['/no/such/program'] });
    await expect(open(identity)).rejects.toMatchObject({ code: 'environment_failed' });
    await expect(open(identity)).rejects.toMatchObject({ code: 'environment_failed' });
  });

  it('says by what a main process ended that does not stay', async () => {
    for (const [command, code] of [
      [['true'], 0],
      [['/no/such/program'], 127],
    ] as const) {
      const message = expect.stringContaining(`its main process (\`command\` of the environment) ended with ${code}`);
      await expect(open(newIdentity({ command: [...command] }))).rejects.toMatchObject({
        ...{ code: 'environment_failed', message },
      });
    }
  });

  it('names an image that the engine does not have', async () => {
    const image = 'holdfast-test/none:1';
    const failure = open(newIdentity({ image }));
    await expect(failure).rejects.toMatchObject({ code: 'image_unknown', message: expect.stringContaining(image) });
  });

  it('names an engine that does not answer, and waits no longer than it was told to', async () => {
    const away = newEngine(`unix:///tmp/holdfast-${randomBytes(4).toString('hex')}.sock`, 200);
    await expect(
      away.open(newIdentity(), { begun: false, starting: async () => {}, secrets: noSecrets, signal: never }),
    ).rejects.toMatchObject({ code: 'engine_unreachable' });
  });

  // The second number does not fit into an archive: a container gives the workspace away.
  it.each(['1000:1000', '123456789:7'])(
    'gives a workspace that the image does not have to its user %s',
    async (user) => {
      const identity = newIdentity({ workdir: '/srv/job', user });
      const environment = await open(identity);
      const seen = endedOf(
        await environment.run(shell('echo mine >file && stat -c %u:%g . && cat file', { cwd: '/srv/job' }), never),
      );
      expect(seen.stdout.text).toBe(`${user}\nmine\n`);
      const left = await docker.listContainers({ all: true, filters: { name: [environmentName(identity)] } });
      expect(left.flatMap(({ Names }) => Names)).toEqual([`/${environmentName(identity)}`]);
    },
  );

  it('reads and writes files, and says why not', async () => {
    const environment = await open(newIdentity());
    const bytes = Buffer.from([0, 255, 10, 13, 65]);
    await environment.write('/work/data', bytes, never);
    await environment.write('/work/data', bytes, never);
    await environment.run(shell('ln -s data link; mkfifo pipe; mkdir dir'), never);
    expect(await environment.read('/work/link', 5, never)).toEqual({ path: '/work/data', bytes });
    await environment.run(shell("mkdir 'a\nb'; printf odd >'a\nb/c '; ln -s 'a\nb/c ' odd"), never);
    expect(await environment.read('/work/odd', 5, never)).toEqual({ path: '/work/a\nb/c ', bytes: Buffer.from('odd') });
    await environment.run(shell("rm -r 'a\nb' odd"), never);
    const read = (path: string) => environment.read(path, 4, never);
    for (const path of ['/work/data', '/work/none', '/work/pipe', '/work/dir', '/etc/shadow', 'work', '/a\nb'])
      await expect(read(path), path).rejects.toMatchObject({ code: 'file_unreadable' });
    for (const path of ['/etc/file', '/none/file', '/work/dir', '/work/pipe'])
      await expect(environment.write(path, bytes, never), path).rejects.toMatchObject({ code: 'file_unwritable' });
    expect(endedOf(await environment.run(shell('ls -A'), never)).stdout.text).toBe('data\ndir\nlink\npipe\n');
  });

  it('a caller that gives up is not held', async () => {
    const environment = await open(newIdentity());
    const stop = new AbortController();
    const outcome = environment.run(shell('echo begun >/work/began; sleep 1000'), stop.signal);
    while (!(await environment.read('/work/began', 10, never).catch(() => null)));
    stop.abort(new Error('enough'));
    await expect(outcome).rejects.toThrow('enough');
  });

  it('says whether it answers and which images it lacks', async () => {
    const look = await lookAtEngine({ host: DOCKER_HOST, certPath: null }, [BUSYBOX, 'holdfast-test/none:1'], never);
    expect(look).toEqual({ version: expect.stringMatching(/^\d/), missing: ['holdfast-test/none:1'] });
  });

  it('lists what there is and removes all of it', async () => {
    const identity = newIdentity({ workdir: '/srv/job' });
    await open(identity);
    const listed = await engine.list(INSTANCE, never);
    const { instance, runId, purpose, attempt, deadline } = identity;
    expect(listed).toContainEqual({ name: environmentName(identity), instance, runId, purpose, attempt, deadline });
    await engine.remove(identity, never);
    await engine.remove(identity, never);
    expect((await engine.list(INSTANCE, never)).filter((one) => one.runId === runId)).toEqual([]);
    expect(
      await docker
        .getContainer(environmentName(identity))
        .inspect()
        .catch(() => missing),
    ).toBe(missing);
  });
});
