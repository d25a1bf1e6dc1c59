import Docker from 'dockerode';
import { expect, it } from 'vitest';
import { containerOptions } from '../../src/containers/docker/container-options.js';
import { environmentName } from '../../src/core/containers/environment.js';
import type { EnvironmentInput } from '../../src/core/containers/environment-spec.js';
import { DOCKER_HOST, describeDocker, TOOLS } from '../harness/docker.js';
import { endedOf, never, newIdentity, openedFor, shell } from './environments.js';
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

/** What a container is kept from, each with its control: the same without the bound, where it happens. */

const docker = new Docker({ socketPath: DOCKER_HOST.slice('unix://'.length) });

/** What the kernel says of the process that asks. */
const status = (name: string) => `grep ^${name}: /proc/self/status | tr -s "\\t " " " | cut -d" " -f2`;

const userNamespace = `python3 -c 'import ctypes; print(ctypes.CDLL(None, use_errno=True).unshare(0x10000000))'`;
const allowAll = JSON.stringify({
  defaultAction: 'SCMP_ACT_ALLOW',
  archMap: [{ architecture: 'SCMP_ARCH_X86_64', subArchitectures: ['SCMP_ARCH_X86'] }],
});

interface Check {
  readonly what: string;
  readonly ask: string;
  /** As it is by default. */
  readonly bound: string;
  /** How to be without it, and what is seen then. */
  readonly without: Partial<EnvironmentInput>;
  readonly free: string | RegExp;
}

const checks: readonly Check[] = [
  {
    what: 'no network but its own loopback',
    ask: 'tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " "',
    bound: 'lo\n',
    without: { security: { networkMode: 'open' } },
    free: /eth0/,
  },
  {
    what: 'no way to another host',
    ask: 'ip route | wc -l',
    bound: '0\n',
    without: { security: { networkMode: 'open' } },
    free: /^[1-9]/,
  },
  {
    what: 'no capability, also for root',
    ask: status('CapBnd'),
    bound: '0000000000000000\n',
    without: { security: { dropCapabilities: [] } },
    free: /[1-9a-f]/,
  },
  {
    what: 'no new privileges',
    ask: status('NoNewPrivs'),
    bound: '1\n',
    without: { security: { noNewPrivileges: false } },
    free: '0\n',
  },
  {
    what: 'a root that no one writes to',
    ask: 'touch /anyone/file 2>&1; ls /anyone',
    bound: 'touch: /anyone/file: Read-only file system\n',
    without: { security: { readOnlyRoot: false } },
    free: 'file\n',
  },
  {
    what: 'no user namespaces',
    ask: userNamespace,
    bound: '-1\n',
    without: { security: { seccompProfile: allowAll } },
    free: '0\n',
  },
  {
    what: 'no sockets but of few families',
    ask: SOCKETS,
    bound: SOCKETS_BOUND,
    without: { security: { seccompProfile: allowAll } },
    free: /\nopen /,
  },
  {
    what: 'no io_uring',
    ask: IO_URING,
    bound: IO_URING_BOUND,
    without: { security: { seccompProfile: allowAll } },
    free: /^(?!EPERM)/,
  },
  {
    what: 'no sockets of other families in 32 bits either',
    ask: IN_32_BITS,
    bound: IN_32_BITS_BOUND,
    without: { security: { seccompProfile: allowAll } },
    free: /^open open/,
  },
  {
    what: 'a number of processes',
    ask: `for i in $(seq 100); do sleep 60 & done 2>/dev/null
count() { ps | grep -c "[s]leep 60$"; }
for i in $(seq 100); do [ "$(count)" -ge 90 ] && break; sleep 0.1; done; count; kill $(jobs -p)`,
    bound: '',
    without: { limits: { maxProcesses: null } },
    free: /^(9\d|100)\n$/,
  },
  {
    what: 'a share of the processors',
    ask: 'cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us 2>/dev/null || cut -d" " -f1 /sys/fs/cgroup/cpu.max',
    bound: '100000\n',
    without: { limits: { cpuCores: null } },
    free: /^(-1|max)\n$/,
  },
];

describeDocker('isolation', () => {
  const { open, run } = openedFor();

  for (const { what, ask, bound, without, free } of checks) {
    if (ask === IN_32_BITS && !HAS_32_BITS) continue;
    const image = ask.includes('python3') ? { image: TOOLS } : {};
    it(`${what}, unless it says otherwise`, async () => {
      expect((await run(image, ask)).stdout.text.replaceAll("'", '')).toBe(bound);
      const seen = (await run({ ...image, ...without }, ask)).stdout.text;
      if (typeof free === 'string') expect(seen).toBe(free);
      else expect(seen).toMatch(free);
    });
  }

  it('the filter of system calls lets programs do what they do all the time', async () => {
    const ended = await run({ image: TOOLS }, USUAL);
    expect(ended.stdout.text).toBe(USUAL_SAID);
  });

  it('commands run as the user that it names, and as root never', async () => {
    expect((await run({}, 'id -u')).stdout.text).toBe('1000\n');
    expect((await run({ user: '1234:1234' }, 'id -u; id -g')).stdout.text).toBe('1234\n1234\n');
    expect(() => newIdentity({ user: '0:0' })).toThrow('root');
    expect(() => newIdentity({ user: 'root' })).toThrow('root');
  });

  it('sees neither what the kernel says of the host, nor the engine', async () => {
    const ask =
      'cat /proc/kcore 2>/dev/null | head -c 1 | wc -c; echo 1 2>/dev/null >/proc/sys/kernel/panic; echo $?; ls /var/run/docker.sock /run/docker.sock 2>/dev/null; ls /dev | grep -cE "^(sd|vd|nvme|mem$|kmsg$)"';
    expect((await run({}, ask)).stdout.text).toBe('0\n1\n0\n');
    expect(() => newIdentity({ mounts: [{ source: '/var/run/docker.sock', target: '/engine' }] })).toThrow('may see');
    expect(() => newIdentity({ mounts: [{ source: '/var', target: '/engine' }] })).toThrow('may see');
  });

  it('an environment variable is given, a label too, and a mount is read only', async () => {
    const identity = newIdentity({
      env: { NAME: 'a b=c' },
      labels: { team: 'blue' },
      mounts: [{ source: '/usr/share', target: '/shared' }],
    });
    const environment = await open(identity);
    const text = 'echo "$NAME"; ls /shared | head -n 1 | wc -l; touch /shared/file 2>&1 | grep -o "Read-only.*"';
    expect(endedOf(await environment.run(shell(text), never)).stdout.text).toBe('a b=c\n1\nRead-only file system\n');
    const { Config } = await docker.getContainer(environmentName(identity)).inspect();
    expect(Config.Labels).toMatchObject({ team: 'blue', 'holdfast.run': identity.runId });
  });

  it('what is asked for and cannot be enforced is refused, unless the best is enough', async () => {
    const disk = { limits: { diskGb: 1 } };
    await expect(open(newIdentity(disk))).rejects.toMatchObject({
      code: 'environment_unenforceable',
      message: expect.stringContaining('limits.diskGb'),
    });
    expect(await run({ ...disk, bestEffort: true }, 'echo up')).toMatchObject({ stdout: { text: 'up\n' } });
    const egress = newIdentity({ security: { allowedEgress: ['example.com'] } });
    await expect(open(egress)).rejects.toMatchObject({ message: expect.stringContaining('allowedEgress') });
    const speed = newIdentity({ limits: { networkMbps: 10 }, security: { networkMode: 'open' } });
    await expect(open(speed)).rejects.toMatchObject({ message: expect.stringContaining('networkMbps') });
  });

  it('does not believe an engine that takes an option and does nothing', async () => {
    const weak = [
      ['limits.memoryMb', { Memory: 0, MemorySwap: 0 }],
      ['limits.maxProcesses', { PidsLimit: 0 }],
      ['limits.cpuCores', { CpuQuota: 0, CpuPeriod: 0 }],
      ['security.readOnlyRoot', { ReadonlyRootfs: false }],
      ['security.dropCapabilities', { CapDrop: [] }],
      ['security.noNewPrivileges', { SecurityOpt: [] }],
      ['security.seccompProfile', { SecurityOpt: ['no-new-privileges', 'seccomp=unconfined'] }],
      ['security.networkMode', { NetworkMode: 'bridge' }],
    ] as const;
    for (const [field, changes] of weak) {
      const identity = newIdentity();
      const options = containerOptions(identity, {
        ...{ boundDisk: true, filter: null, ownSecrets: true, egress: null, variables: {} },
      });
      // As if the engine had heard everything else.
      await docker.createContainer({ ...options, HostConfig: { ...options.HostConfig, ...(changes as object) } });
      const refused = { code: 'environment_unenforceable', message: expect.stringContaining(`${field}:`) };
      await expect(open(identity), field).rejects.toMatchObject(refused);
      // Also where its first command is what looks: that one is not begun.
      const unseen = await open(identity, false, true);
      await expect(unseen.run(shell('echo ran >/work/ran'), never), field).rejects.toMatchObject(refused);
      const ran = docker.getContainer(environmentName(identity)).infoArchive({ path: '/work/ran' });
      await expect(ran, field).rejects.toMatchObject({ statusCode: 404 });
    }
  });
});
