import { spawn } from 'node:child_process';
import { once } from 'node:events';
import Docker from 'dockerode';
import { expect, it } from 'vitest';
import { containerOptions } from '../../src/containers/docker/container-options.js';
import { EngineConnection } from '../../src/containers/docker/engine-connection.js';
import { engineIdentity } from '../../src/containers/docker/engine-identity.js';
import { type EnvironmentIdentity, environmentName } from '../../src/core/containers/environment.js';
import { TOOLS } from '../harness/docker.js';
import { namesLeftOn } from '../harness/on-docker.js';
import { describePodman, PODMAN_HOST } from '../harness/podman.js';
import { endedOf, never, newEngine, newIdentity, openedFor, shell } from './environments.js';
import {
  HAS_32_BITS,
  IN_32_BITS,
  IN_32_BITS_BOUND,
  IO_URING,
  IO_URING_BOUND,
  SOCKETS,
  SOCKETS_BOUND,
  USUAL,
  USUAL_SAID,
} from './system-calls.js';

/** What the other suites of this folder check on Docker, in short, and what Podman does otherwise. */

const docker = new Docker({ socketPath: PODMAN_HOST.slice('unix://'.length) });
const engine = newEngine(PODMAN_HOST);
const options = {
  begun: false,
  starting: async () => {},
  secrets: async () => new Map([['token', 'abc']]),
  signal: never,
};

describePodman('environments', () => {
  const { open } = openedFor(engine);

  it('a command is run once, and collected after the process that asked for it has died', async () => {
    const identity = newIdentity();
    const environment = await open(identity);
    const asked = shell('echo effect >>effects; echo out; while [ ! -e go ]; do sleep 0.1; done; echo err >&2; exit 3');
    const args = [PODMAN_HOST, identity, asked].map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
    const child = spawn(process.execPath, ['dist/programs/test/containers/command-child.js', ...args]);
    const has = (path: string) => environment.read(path, 100, never).then(String, () => null);
    await expect.poll(() => has('/work/effects')).not.toBeNull();
    child.kill('SIGKILL');
    await once(child, 'close');
    const again = environment.run(asked, never);
    await environment.write('/work/go', Buffer.from(''), never);
    expect(await again).toMatchObject({
      ...{ type: 'ended', exitCode: 3, timedOut: false },
      stdout: { text: 'out\n', omittedBytes: 0 },
      stderr: { text: 'err\n', omittedBytes: 0 },
    });
    expect(await environment.run(asked, never)).toEqual(await again);
    expect(String((await environment.read('/work/effects', 100, never)).bytes)).toBe('effect\n');
  });

  it('five that make the same one at once make one, which is stopped and goes on with its files', async () => {
    const identity = newIdentity({ secrets: ['token'] });
    await Promise.all(Array.from({ length: 5 }, () => newEngine(PODMAN_HOST).open(identity, options)));
    const environment = await engine.open(identity, options);
    const kept = shell('echo kept >file; stat -c %u:%a /run/secrets/token; cat /run/secrets/token');
    expect(endedOf(await environment.run(kept, never)).stdout.text).toBe('1000:600\nabc');
    await engine.stop(identity, never);
    await engine.stop(identity, never);
    const { State } = await docker.getContainer(environmentName(identity)).inspect();
    expect(State.Running).toBe(false);
    const after = await engine.open(identity, { ...options, begun: true });
    expect(endedOf(await after.run(shell('cat file /run/secrets/token'), never)).stdout.text).toBe('kept\nabc');
    await after.end(never);
    await after.end(never);
    expect((await namesLeftOn(PODMAN_HOST, identity)).length).toBe(3);
    await engine.remove(identity, never);
    expect(await namesLeftOn(PODMAN_HOST, identity)).toEqual([]);
  });

  it('is kept from network, root, capabilities, and what others recorded, within its bounds', async () => {
    const environment = await open(newIdentity());
    const say = async (text: string) => endedOf(await environment.run(shell(text), never)).stdout.text;
    const status = (name: string) => `grep ^${name}: /proc/self/status | tr -s "\\t " " " | cut -d" " -f2`;
    const looks = [
      'id -u',
      'tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " "',
      ...['CapBnd', 'NoNewPrivs', 'Seccomp'].map(status),
    ];
    expect(await say(looks.join('; '))).toBe('1000\nlo\n0000000000000000\n1\n2\n');
    expect(await say('touch /anyone/file || echo refused; ls /.holdfast || echo refused')).toBe('refused\nrefused\n');
    const full = endedOf(
      await environment.run(shell('head -c 300000000 /dev/zero | tail -c 299999999 >/dev/null'), never),
    );
    expect(full).toMatchObject({ outOfMemory: true, timedOut: false });
    expect(await say('for i in $(seq 100); do sleep 2 & done; ps | grep -c "[s]leep 2$"')).toBe('');
  });

  it('is refused where it does not hold, and so is a filter of system calls, unless the best is enough', async () => {
    const weak = newIdentity();
    const parts = { boundDisk: true, filter: null, ownSecrets: true, egress: null, variables: {} };
    const asked = containerOptions(weak, parts);
    // As if the engine had heard everything else.
    await docker.createContainer({ ...asked, HostConfig: { ...asked.HostConfig, PidsLimit: 0, CapDrop: [] } });
    await expect(open(weak)).rejects.toMatchObject({
      code: 'environment_unenforceable',
      message: expect.stringMatching(/dropCapabilities.*maxProcesses/),
    });
    const own = { security: { seccompProfile: JSON.stringify({ defaultAction: 'SCMP_ACT_ALLOW' }) } };
    await expect(open(newIdentity(own))).rejects.toMatchObject({
      code: 'environment_unenforceable',
      message: expect.stringContaining('security.seccompProfile'),
    });
    const environment = await open(newIdentity({ ...own, bestEffort: true }));
    expect(endedOf(await environment.run(shell('echo up'), never)).stdout.text).toBe('up\n');
  });

  it('has sockets of few families, no io_uring and no new namespaces, and does what programs do all the time', async () => {
    const environment = await open(newIdentity({ image: TOOLS }));
    const say = async (text: string) => endedOf(await environment.run(shell(text), never)).stdout.text;
    expect(await say(SOCKETS)).toBe(SOCKETS_BOUND);
    expect(await say(IO_URING)).toBe(IO_URING_BOUND);
    if (HAS_32_BITS) expect(await say(IN_32_BITS)).toBe(IN_32_BITS_BOUND);
    expect(await say(`python3 -c 'import ctypes; print(ctypes.CDLL(None).unshare(0x10000000))'`)).toBe('-1\n');
    expect(await say(USUAL)).toBe(USUAL_SAID);
  });

  it('is verified on a copy of its files, and goes alone', async () => {
    const source = newIdentity({ security: { readOnlyRoot: false } });
    const neighbour = newIdentity();
    await open(neighbour);
    await engine.stop(neighbour, never);
    await (await open(source)).run(shell('echo work >file; echo root >/anyone/file'), never);
    const copy: EnvironmentIdentity = { ...source, purpose: 'verification', source };
    const judged = await open(copy);
    const text = 'cat file /anyone/file; echo changed >file; echo changed >/anyone/file';
    expect(endedOf(await judged.run(shell(text), never)).stdout.text).toBe('work\nroot\n');
    const listed = (await engine.list(source.instance, never)).map(({ name }) => name);
    expect(listed).toEqual(expect.arrayContaining([source, copy, neighbour].map(environmentName)));
    await engine.remove(copy, never);
    const again = await open(source, true);
    expect(endedOf(await again.run(shell('cat file /anyone/file'), never)).stdout.text).toBe('work\nroot\n');
    await engine.remove(source, never);
    expect(await namesLeftOn(PODMAN_HOST, source)).toEqual([]);
    // What is stopped has its files yet.
    expect(await namesLeftOn(PODMAN_HOST, neighbour)).toHaveLength(3);
    // What owns volumes is made once.
    const nameless = await docker.listImages({ filters: { dangling: ['true'] } });
    expect(nameless.map(({ Id }) => Id)).toEqual([]);
  });

  it('has one name, the one that asks', async () => {
    const names = [
      new EngineConnection({ host: PODMAN_HOST, certPath: null }, 0),
      new EngineConnection({ host: PODMAN_HOST, certPath: null }, 0),
    ];
    const [first, second] = await Promise.all(names.map((one) => engineIdentity(one, never)));
    expect(first).toBe(second);
  });
});
