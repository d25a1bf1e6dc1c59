import { randomBytes } from 'node:crypto';
import Docker from 'dockerode';
import { expect, it } from 'vitest';
import { labelsOf } from '../../src/containers/docker/container-options.js';
import { EngineConnection } from '../../src/containers/docker/engine-connection.js';
import { copyFiles } from '../../src/containers/files/copy-files.js';
import { type EnvironmentIdentity, environmentName } from '../../src/core/containers/environment.js';
import { BUSYBOX, DOCKER_HOST, describeDocker, describeDockerSlowly, TOOLS } from '../harness/docker.js';
import { namesLeftOn } from '../harness/on-docker.js';
import { countingProxy } from './counting-proxy.js';
import { endedOf, never, newEngine, newIdentity, noSecrets, openedFor, shell } from './environments.js';

/** Environments that begin with the files of others: all of them, once, the one that dies in between. */

const docker = new Docker({ socketPath: DOCKER_HOST.slice('unix://'.length) });
const copyOf = (source: EnvironmentIdentity): EnvironmentIdentity => ({
  ...{ ...source, purpose: 'verification', source },
});
const helperOf = (copy: EnvironmentIdentity) => docker.getContainer(`${environmentName(copy)}-copy`);
const options = { begun: false, starting: async () => {}, secrets: noSecrets, signal: never };

const MAKE = `
mkdir -p deep/er .hidden; echo one >file; echo two >"deep/er/a b"; echo three >.hidden/.x
ln -s file link; ln file hard; mkfifo pipe; printf '#!/bin/sh' >tool; chmod 754 tool; touch -d @1000000000 file
`;
const LIST =
  'find . -exec stat -c "%n %F %a %u %g %h %s" {} + | sort; stat -c %Y file; readlink link; cat file "deep/er/a b"';

/** A listing as a copy has it in which tests run: their group may read and write everything, and execute what someone may. */
const forTests = (listing: string): string =>
  listing.replace(/^(\.\S*(?: b)? .*?) (\d+) (\d+) \d+ (\d+ \d+)$/gm, (_line, what: string, mode, user, rest) => {
    const bits = Number.parseInt(mode, 8);
    const group = what.endsWith('symbolic link') ? 0 : what.endsWith('directory') || bits & 0o111 ? 0o070 : 0o060;
    return `${what} ${(bits | group).toString(8)} ${user} 65534 ${rest}`;
  });

describeDocker('copies of environments', () => {
  const { engine, open } = openedFor();
  const say = async (identity: EnvironmentIdentity, text: string, begun = true): Promise<string> =>
    endedOf(await (await open(identity, begun)).run(shell(text), never)).stdout.text;
  const working = async (): Promise<EnvironmentIdentity> => {
    const source = newIdentity();
    await say(source, MAKE, false);
    return source;
  };

  it('have the files of their source as they are, and are no way back to them', async () => {
    const source = await working();
    const before = await say(source, LIST);
    expect(before).toContain('./deep/er/a b');
    const copy = copyOf(source);
    expect(await say(copy, LIST, false)).toBe(forTests(before));
    expect((await docker.getContainer(environmentName(source)).inspect()).State.Running).toBe(false);
    await say(copy, 'echo changed >file; rm -r deep; echo new >more');
    expect(await say(source, LIST)).toBe(before);
  });

  it('are judged on an image whose /tmp is not for everyone, and blame no agent for a program that it lacks', async () => {
    const imageAfter = async (text: string): Promise<string> => {
      const [repo, tag] = ['holdfast-test/changed', randomBytes(4).toString('hex')];
      const made = await docker.createContainer({ Image: TOOLS, User: '0:0', Entrypoint: [], Cmd: ['sh', '-c', text] });
      try {
        await made.start();
        await made.wait();
        await made.commit({ repo, tag });
      } finally {
        await made.remove({ force: true });
      }
      return `${repo}:${tag}`;
    };
    const changed = [await imageAfter('chmod 755 /tmp'), await imageAfter('rm "$(command -v chgrp)"')] as const;
    try {
      const [closed, lacking] = changed.map((image) => newIdentity({ image })) as [
        EnvironmentIdentity,
        EnvironmentIdentity,
      ];
      expect(await say(closed, 'echo one >/tmp/file && cat /tmp/file', false)).toBe('one\n');
      const judging = await open(copyOf(closed));
      const place = { remove: [], make: ['/tmp/tests'], files: [] };
      expect(await judging.judge(shell('echo judged'), place, never)).toMatchObject({ stdout: { text: 'judged\n' } });
      expect(await say(lacking, 'echo works', false)).toBe('works\n');
      await expect(open(copyOf(lacking))).rejects.toMatchObject({
        ...{ code: 'environment_failed', message: expect.stringContaining('the image has no program chgrp') },
      });
      for (const identity of [closed, lacking])
        for (const one of [copyOf(identity), identity]) await engine.remove(one, never);
    } finally {
      for (const image of changed) await docker.getImage(image).remove({ force: true });
    }
  });

  it('have nothing of what was recorded of commands', async () => {
    const source = newIdentity();
    const command = shell('echo effect >>effects; wc -l <effects');
    const first = endedOf(await (await open(source)).run(command, never));
    const environment = await open(copyOf(source));
    const second = endedOf(await environment.run(command, never));
    const again = endedOf(await environment.run(command, never));
    expect([first, second, again].map(({ stdout }) => stdout.text.trim())).toEqual(['1', '2', '2']);
  });

  it('of another run have that too, so that its calls run nothing twice', async () => {
    const source = newIdentity();
    const command = shell('echo effect >>effects; wc -l <effects');
    await (await open(source)).run(command, never);
    const snapshot: EnvironmentIdentity = { ...source, purpose: 'snapshot', source };
    await Promise.all([engine.keep(snapshot, never), newEngine().keep(snapshot, never)]);
    await engine.keep(snapshot, never);
    expect((await docker.getContainer(environmentName(snapshot)).inspect()).State.Status).toBe('created');
    await engine.remove(source, never);
    const fork = await open({ ...newIdentity(), source: snapshot });
    expect(endedOf(await fork.run(command, never)).stdout.text.trim()).toBe('1');
    expect(endedOf(await fork.run(shell('cat effects'), never)).stdout.text).toBe('effect\n');
    await engine.remove(snapshot, never);
    expect(await namesLeftOn(DOCKER_HOST, source)).toEqual([]);
  });

  it('are made once, also by ten at once', async () => {
    const source = await working();
    const copy = copyOf(source);
    let starts = 0;
    const counted = { ...options, starting: async () => void starts++ };
    await Promise.all(Array.from({ length: 10 }, () => newEngine().open(copy, counted)));
    expect(await say(copy, 'cat file')).toBe('one\n');
    await say(copy, 'echo mine >file');
    await Promise.all(Array.from({ length: 3 }, () => newEngine().open(copy, counted)));
    expect(await say(copy, 'cat file')).toBe('mine\n');
    const names = (await namesLeftOn(DOCKER_HOST, copy)).filter((name) => name.startsWith('/'));
    expect(names.sort()).toEqual([source, copy].map((one) => `/${environmentName(one)}`).sort());
    expect(starts).toBeGreaterThan(0);
  });

  it('one that ended in the middle is done again from its beginning', async () => {
    const source = await working();
    await say(source, 'for i in 1 2 3 4 5 6; do head -c 20000000 /dev/zero >big$i; done');
    const copy = copyOf(source);
    const opening = open(copy);
    let killed = false;
    while (!killed) {
      killed = await helperOf(copy)
        .kill()
        .then(
          () => true,
          () => false,
        );
    }
    await opening;
    expect(await say(copy, 'cat big* | wc -c; find . -type f | wc -l')).toBe(
      await say(source, 'cat big* | wc -c; find . -type f | wc -l'),
    );
  });

  it('what a copy has left that failed is never used', async () => {
    const source = await working();
    const copy = copyOf(source);
    const Labels = labelsOf(copy);
    const volume = `${environmentName(copy)}-work`;
    await docker.createVolume({ Name: volume, Labels });
    const half = await docker.createContainer({
      ...{ name: `${environmentName(copy)}-copy`, Image: BUSYBOX, User: '0:0', Labels },
      Cmd: ['sh', '-c', 'mkdir -p /to/.junk/deep; echo half >/to/file; ln -s none /to/dangling; exit 1'],
      HostConfig: { Mounts: [{ Type: 'volume', Source: volume, Target: '/to' }] },
    });
    await half.start();
    await half.wait();
    const before = await say(source, LIST);
    expect(await say(copy, LIST, false)).toBe(forTests(before));
  });

  it('who comes late to copy touches nothing of what is in use', async () => {
    const source = await working();
    const copy = copyOf(source);
    const connection = new EngineConnection({ host: DOCKER_HOST, certPath: null }, 1000);
    await copyFiles(connection, copy, source, never);
    await say(source, 'echo later >file');
    const copied = docker.getContainer(`${environmentName(copy)}-copied`);
    await copied.start();
    expect(await copied.wait()).toMatchObject({ StatusCode: 42 });
    expect(await say(copy, 'cat file; echo mine >file', false)).toBe('one\n');
    await copyFiles(connection, copy, source, never);
    expect(await say(copy, 'cat file')).toBe('mine\n');
  });

  it('have the root too, where it can be written to, and leave no image', async () => {
    const source = newIdentity({ security: { readOnlyRoot: false } });
    await say(source, 'echo root >/anyone/file; echo work >file', false);
    const copy = copyOf(source);
    await Promise.all([open(copy), newEngine().open(copy, options)]);
    expect(await say(copy, 'cat /anyone/file file')).toBe('root\nwork\n');
    await say(copy, 'echo changed >/anyone/file');
    expect(await say(source, 'cat /anyone/file')).toBe('root\n');
    expect(await engine.list(source.instance, never)).toContainEqual(
      expect.objectContaining({ name: environmentName(copy), purpose: 'verification' }),
    );
    await engine.remove(copy, never);
    expect((await namesLeftOn(DOCKER_HOST, source)).filter((name) => name.startsWith('sha256'))).toEqual([]);
    expect(await say(source, 'cat /anyone/file')).toBe('root\n');
    await engine.remove(source, never);
    expect(await namesLeftOn(DOCKER_HOST, source)).toEqual([]);
  });

  it('of files that are gone is lost, and makes none', async () => {
    const source = newIdentity();
    const copy = copyOf(source);
    await expect(open(copy)).rejects.toMatchObject({ code: 'environment_lost' });
    expect((await docker.listVolumes()).Volumes.map(({ Name }) => Name)).not.toContain(
      `${environmentName(source)}-work`,
    );
  });

  it('go alone, and so does their source, whatever a copy has left', async () => {
    const source = await working();
    const copy = copyOf(source);
    await open(copy);
    await engine.remove(copy, never);
    expect((await namesLeftOn(DOCKER_HOST, copy)).join()).not.toContain(environmentName(copy));
    expect(await say(source, 'cat file')).toBe('one\n');
    await copyFiles(new EngineConnection({ host: DOCKER_HOST, certPath: null }, 1000), copy, source, never);
    await engine.remove(source, never);
    expect((await namesLeftOn(DOCKER_HOST, copy)).join()).not.toContain(environmentName(source));
  });
});

describeDockerSlowly('a process that dies while it copies an environment', () => {
  const { open } = openedFor();

  it('leaves a whole copy to who comes next, whenever it dies', { timeout: 600_000 }, async () => {
    const source = newIdentity({ security: { readOnlyRoot: false } });
    await (await open(source)).run(shell(`${MAKE}; echo root >/anyone/file`), never);
    const list = shell(`${LIST}; cat /anyone/file`);
    const whole = endedOf(await (await open(source, true)).run(list, never)).stdout.text;
    const lives = async (piece: number): Promise<boolean> => {
      const copy = { ...copyOf(source), attempt: piece };
      const proxy = await countingProxy(DOCKER_HOST);
      const death = new AbortController();
      proxy.onPiece = (count) => {
        if (count === piece) death.abort(new Error('died'));
      };
      let begun = false;
      const starting = async (): Promise<void> => {
        begun = true;
      };
      const first = newEngine(proxy.host).open(copy, { begun, starting, secrets: noSecrets, signal: death.signal });
      const died = await first.then(
        () => false,
        () => true,
      );
      await proxy.close();
      const environment = await open(copy, begun);
      expect(endedOf(await environment.run(list, never)).stdout.text, `after piece ${piece}`).toBe(forTests(whole));
      await newEngine().remove(copy, never);
      return died;
    };
    let piece = 1;
    while (await lives(piece)) piece += 5;
    expect(piece).toBeGreaterThan(10);
    expect((await namesLeftOn(DOCKER_HOST, source)).filter((name) => name.startsWith('sha256'))).toEqual([]);
  });
});
