import { expect, it } from 'vitest';
import { environmentSpec } from '../../../src/core/containers/environment-spec.js';
import { unmetIn } from '../../../src/core/containers/isolation.js';

/** What a container shows of its bounds, under control groups of both versions. On a real engine: test/containers/isolation.test.ts. */

const spec = environmentSpec.parse({ image: 'any' });

const common = {
  '/proc/self/status':
    'Name:\tcat\nUid:\t1000\t1000\t1000\t1000\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n',
  '/proc/self/mountinfo': '100 99 0:50 / / ro,relatime - overlay overlay rw\n101 100 0:51 / /proc rw - proc proc rw',
  '/proc/net/dev': 'Inter-|   Receive\n face |bytes\n    lo:       0\n',
  '/proc/meminfo': 'MemTotal: 1 kB\nSwapTotal:       1024 kB\n',
};
const first = {
  ...common,
  '/sys/fs/cgroup/memory/memory.limit_in_bytes': '2147483648',
  '/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes': '2147483648',
  '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '100000',
  '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000',
  '/sys/fs/cgroup/pids/pids.max': '256',
};
const second = {
  ...common,
  '/sys/fs/cgroup/memory.max': '2147483648',
  '/sys/fs/cgroup/memory.swap.max': '0',
  '/sys/fs/cgroup/cpu.max': '100000 100000',
  '/sys/fs/cgroup/pids.max': '256',
};
const unmet = (files: object, of = spec) =>
  unmetIn(of, new Map(Object.entries(files))).map((text) => text.split(':')[0]);

it('what holds is not named, under either version', () => {
  expect(unmet(first)).toEqual([]);
  expect(unmet(second)).toEqual([]);
});

it('what does not hold is named by its field', () => {
  const changes: [object, string][] = [
    [{ '/sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712' }, 'limits.memoryMb'],
    [{ '/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes': '4294967296' }, 'limits.memoryMb'],
    [{ '/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes': '' }, 'limits.memoryMb'],
    [{ '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1' }, 'limits.cpuCores'],
    [{ '/sys/fs/cgroup/pids/pids.max': 'max' }, 'limits.maxProcesses'],
    [{ '/proc/self/mountinfo': '100 99 0:50 / / rw - overlay overlay rw' }, 'security.readOnlyRoot'],
    [{ '/proc/net/dev': 'a\nb\n lo: 0\n eth0: 0\n' }, 'security.networkMode'],
    [{ '/proc/net/dev': '' }, 'security.networkMode'],
  ];
  for (const [change, field] of changes) expect(unmet({ ...first, ...change }), field).toEqual([field]);
  // No bound is `max` there, and of the processors `max <period>`: "Control Group v2" of the kernel's documentation.
  expect(unmet({ ...second, '/sys/fs/cgroup/memory.max': 'max' })).toEqual(['limits.memoryMb']);
  expect(unmet({ ...second, '/sys/fs/cgroup/pids.max': 'max' })).toEqual(['limits.maxProcesses']);
  expect(unmet({ ...second, '/sys/fs/cgroup/memory.swap.max': 'max' })).toEqual(['limits.memoryMb']);
  expect(unmet({ ...second, '/sys/fs/cgroup/cpu.max': 'max 100000' })).toEqual(['limits.cpuCores']);
});

it('swap that the machine does not have needs no bound', () => {
  const files = { ...first, '/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes': '' };
  expect(unmet({ ...files, '/proc/meminfo': 'SwapTotal:       0 kB' })).toEqual([]);
});

it('where nothing can be seen, nothing is believed', () => {
  expect(unmet({})).toEqual([
    ...['user', 'security.noNewPrivileges', 'security.seccompProfile', 'security.dropCapabilities'],
    ...['security.readOnlyRoot', 'security.networkMode', 'limits.memoryMb', 'limits.cpuCores', 'limits.maxProcesses'],
  ]);
});

it('what has no limit is not looked for', () => {
  const free = environmentSpec.parse({ image: 'any', limits: { memoryMb: null, cpuCores: null, maxProcesses: null } });
  expect(unmet(common, free)).toEqual([]);
});
