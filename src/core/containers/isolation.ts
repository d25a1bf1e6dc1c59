import type { EnvironmentSpec } from './environment-spec.js';

/** What a process of a container sees of its own bounds: the content of files by their path; what is not there is missing. */
export type SeenFiles = ReadonlyMap<string, string>;

/** The files that say so, of control groups of both versions. */
export const TELLING_FILES = [
  '/proc/self/status',
  '/proc/self/mountinfo',
  '/proc/net/dev',
  '/proc/meminfo',
  '/sys/fs/cgroup/memory.max',
  '/sys/fs/cgroup/memory.swap.max',
  '/sys/fs/cgroup/cpu.max',
  '/sys/fs/cgroup/pids.max',
  '/sys/fs/cgroup/memory/memory.limit_in_bytes',
  '/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes',
  '/sys/fs/cgroup/cpu/cpu.cfs_quota_us',
  '/sys/fs/cgroup/cpu/cpu.cfs_period_us',
  '/sys/fs/cgroup/pids/pids.max',
] as const;

const MEBIBYTE = 1024 * 1024;
const SECCOMP_FILTER = '2';

/**
 * What of a spec does not hold in a container, as it shows from inside: an engine that takes an option and does nothing is not
 * believed. Each is a sentence that begins with the field.
 */
export function unmetIn(spec: EnvironmentSpec, seen: SeenFiles): readonly string[] {
  const { limits, security } = spec;
  const status = fieldsOf(seen.get('/proc/self/status') ?? '');
  const unmet: string[] = [];
  const expect = (holds: boolean, what: string): void => {
    if (!holds) unmet.push(what);
  };
  const uid = status.get('Uid')?.split(/\s+/)[1];
  expect(uid === spec.user.split(':')[0], `user: processes run as ${uid ?? 'an unknown user'}`);
  if (security.noNewPrivileges)
    expect(status.get('NoNewPrivs') === '1', 'security.noNewPrivileges: a program may gain privileges');
  expect(status.get('Seccomp') === SECCOMP_FILTER, 'security.seccompProfile: no system call is filtered');
  if (security.dropCapabilities.includes('ALL'))
    expect(/^0+$/.test(status.get('CapBnd') ?? ''), 'security.dropCapabilities: some are left');
  if (security.readOnlyRoot) expect(isRootReadOnly(seen), 'security.readOnlyRoot: the root can be written to');
  if (security.networkMode === 'none')
    expect(
      interfacesIn(seen).every((name) => name === 'lo'),
      'security.networkMode: there is a network',
    );
  if (limits.memoryMb !== null) unmet.push(...memoryUnmet(limits.memoryMb * MEBIBYTE, seen));
  if (limits.cpuCores !== null) {
    const cores = coresIn(seen);
    expect(cores !== null && cores <= limits.cpuCores * 1.01, `limits.cpuCores: ${bound(cores)} applies`);
  }
  if (limits.maxProcesses !== null) {
    const most = numberIn(seen, '/sys/fs/cgroup/pids.max', '/sys/fs/cgroup/pids/pids.max');
    expect(most !== null && most <= limits.maxProcesses, `limits.maxProcesses: ${bound(most)} applies`);
  }
  return unmet;
}

const bound = (value: number | null): string => (value === null ? 'no bound' : `a bound of ${value}`);

function memoryUnmet(bytes: number, seen: SeenFiles): readonly string[] {
  const most = numberIn(seen, '/sys/fs/cgroup/memory.max', '/sys/fs/cgroup/memory/memory.limit_in_bytes');
  if (most === null || most > bytes) return [`limits.memoryMb: ${bound(most)} applies`];
  if (fieldsOf(seen.get('/proc/meminfo') ?? '').get('SwapTotal') === '0 kB') return [];
  const swap = numberIn(seen, '/sys/fs/cgroup/memory.swap.max');
  const both = numberIn(seen, '/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes');
  const isBound = swap !== null ? most + swap <= bytes : both !== null && both <= bytes;
  return isBound ? [] : ['limits.memoryMb: swap is not bounded'];
}

/** `name: value` lines. */
const fieldsOf = (text: string): ReadonlyMap<string, string> =>
  new Map(
    text.split('\n').flatMap((line): [string, string][] => {
      const colon = line.indexOf(':');
      return colon < 0 ? [] : [[line.slice(0, colon).trim(), line.slice(colon + 1).trim()]];
    }),
  );

/** The number in the first of these files that is there; null: none is, or it says that there is no bound. */
function numberIn(seen: SeenFiles, ...paths: readonly string[]): number | null {
  const text = paths.map((path) => seen.get(path)?.trim()).find((content) => content !== undefined && content !== '');
  // A bound that is no bound is the largest number of pages in version 1.
  return text === undefined || !/^\d{1,18}$/.test(text) ? null : Number(text);
}

function coresIn(seen: SeenFiles): number | null {
  const [quota, period] = (seen.get('/sys/fs/cgroup/cpu.max') ?? '').trim().split(' ').map(Number);
  if (quota !== undefined && period !== undefined && quota > 0) return quota / period;
  const quotaUs = numberIn(seen, '/sys/fs/cgroup/cpu/cpu.cfs_quota_us');
  const periodUs = numberIn(seen, '/sys/fs/cgroup/cpu/cpu.cfs_period_us');
  return quotaUs === null || periodUs === null || periodUs === 0 ? null : quotaUs / periodUs;
}

/** Fields 5 and 6 of a line are the mount point and its options (proc_pid_mountinfo(5)). */
function isRootReadOnly(seen: SeenFiles): boolean {
  const lines = (seen.get('/proc/self/mountinfo') ?? '').split('\n').map((line) => line.split(' '));
  const root = lines.findLast((fields) => fields[4] === '/');
  return root?.[5]?.split(',').includes('ro') ?? false;
}

/** The first two lines are a heading; without the file nothing is known. */
function interfacesIn(seen: SeenFiles): readonly string[] {
  const text = seen.get('/proc/net/dev');
  if (text === undefined || text.trim() === '') return ['unknown'];
  return text
    .trim()
    .split('\n')
    .slice(2)
    .map((line) => line.split(':')[0]?.trim() ?? '');
}
