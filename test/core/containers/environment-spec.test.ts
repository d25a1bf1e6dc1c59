import { expect, it } from 'vitest';
import { z } from 'zod';
import {
  type EnvironmentInput,
  environmentSpec,
  specHashOf,
  unenforceable,
} from '../../../src/core/containers/environment-spec.js';
import { fieldErrorsOf } from '../../../src/core/field-errors.js';
import { checkCapability } from '../../../src/core/grants/capability.js';
import { parseGrants } from '../../../src/core/grants/grants.js';

/** What an environment may be made of. What holds in a container: test/containers/isolation.test.ts. */

const parse = (input: Partial<EnvironmentInput>) => environmentSpec.safeParse({ image: 'any', ...input });
const problemOf = (input: Partial<EnvironmentInput>): string | undefined => {
  const [issue] = parse(input).error?.issues ?? [];
  return issue?.path.join('.');
};

it('is closed where nothing is said', () => {
  expect(parse({}).data).toEqual({
    ...{
      image: 'any',
      command: null,
      env: {},
      secrets: [],
      mounts: [],
      workdir: '/work',
      user: '1000:1000',
      labels: {},
    },
    limits: { memoryMb: 2048, cpuCores: 1, diskGb: null, networkMbps: null, maxProcesses: 256 },
    security: {
      ...{ networkMode: 'none', allowedEgress: [], dropCapabilities: ['ALL'], readOnlyRoot: true },
      ...{ noNewPrivileges: true, seccompProfile: null },
    },
    bestEffort: false,
    snapshots: null,
  });
});

it('says what is wrong with a name, and not that a name is', () => {
  const said = ({ labels, env }: Partial<EnvironmentInput>) =>
    fieldErrorsOf(parse({ ...(labels && { labels }), ...(env && { env }) }).error ?? new z.ZodError([]));
  expect(said({ labels: { 'holdfast.run': 'x' } })).toEqual([
    { pointer: '/labels/holdfast.run', detail: 'begins with "holdfast."' },
  ]);
  expect(said({ env: { 'A=B': 'x' } })).toEqual([{ pointer: '/env/A=B', detail: 'is no name of a variable' }]);
});

it('names each field that is wrong', () => {
  const wrong: [Partial<EnvironmentInput>, string][] = [
    [{ image: '' }, 'image'],
    [{ image: '-rm' }, 'image'],
    [{ image: 'a b' }, 'image'],
    [{ command: [] }, 'command'],
    [{ command: ['a\0b'] }, 'command.0'],
    [{ env: { 'A=B': '1' } }, 'env.A=B'],
    [{ secrets: ['../key'] }, 'secrets.0'],
    [{ workdir: 'work' }, 'workdir'],
    [{ workdir: '/' }, 'workdir'],
    [{ workdir: '/a/../b' }, 'workdir'],
    [{ workdir: '/proc/1' }, 'workdir'],
    [{ workdir: '/.holdfast' }, 'workdir'],
    [{ workdir: '/run/secrets' }, 'workdir'],
    [{ user: '0' }, 'user'],
    [{ user: 'root' }, 'user'],
    [{ labels: { 'holdfast.run': 'x' } }, 'labels.holdfast.run'],
    [{ limits: { memoryMb: 1 } }, 'limits.memoryMb'],
    [{ limits: { maxProcesses: 1 } }, 'limits.maxProcesses'],
    [{ limits: { cpuCores: 0 } }, 'limits.cpuCores'],
    [{ security: { dropCapabilities: ['net_raw; rm'] } }, 'security.dropCapabilities.0'],
    [{ security: { seccompProfile: 'unconfined' } }, 'security.seccompProfile'],
    [{ security: { seccompProfile: '[]' } }, 'security.seccompProfile'],
    [{ mounts: [{ source: '/', target: '/a' }] }, 'mounts.0.source'],
    [{ mounts: [{ source: '/var', target: '/a' }] }, 'mounts.0.source'],
    [{ mounts: [{ source: '/run/docker.sock', target: '/a' }] }, 'mounts.0.source'],
    [{ mounts: [{ source: '/proc/1/root', target: '/a' }] }, 'mounts.0.source'],
    [{ mounts: [{ source: '/data', target: '/proc' }] }, 'mounts.0.target'],
    [{ mounts: [{ source: '/data', target: '/.holdfast/x' }] }, 'mounts.0.target'],
    [{ mounts: [{ source: '/data', target: '/work' }] }, 'mounts.0.target'],
  ];
  for (const [input, field] of wrong) expect(problemOf(input), JSON.stringify(input)).toBe(field);
  expect(parse({ privileged: true } as object).error?.issues[0]).toMatchObject({ code: 'unrecognized_keys' });
});

it('takes what is right', () => {
  const right: Partial<EnvironmentInput>[] = [
    { image: 'registry.example:5000/team/tools@sha256:0123' },
    { mounts: [{ source: '/data', target: '/data' }] },
    { mounts: [{ source: '/variable', target: '/work/in' }] },
    { security: { dropCapabilities: ['NET_RAW', 'CAP_SYS_ADMIN'] } },
    { limits: { memoryMb: null, cpuCores: null, maxProcesses: null } },
    { user: '1234' },
  ];
  for (const input of right) expect(problemOf(input), JSON.stringify(input)).toBeUndefined();
});

it('is another one when anything of it is', () => {
  const hashOf = (input: Partial<EnvironmentInput>): string =>
    specHashOf(environmentSpec.parse({ image: 'any', ...input }));
  expect(hashOf({})).toBe(hashOf({ workdir: '/work', limits: { cpuCores: 1 } }));
  expect(hashOf({})).not.toBe(hashOf({ limits: { cpuCores: 2 } }));
});

it('says what no engine enforces', () => {
  const said = (input: Partial<EnvironmentInput>) =>
    unenforceable(environmentSpec.parse({ image: 'any', ...input })).map((text) => text.split(':')[0]);
  expect(said({})).toEqual([]);
  // Without a network there is nothing to bound.
  expect(said({ limits: { networkMbps: 1 } })).toEqual([]);
  expect(said({ limits: { networkMbps: 1 }, security: { networkMode: 'open' } })).toEqual(['limits.networkMbps']);
  expect(said({ security: { allowedEgress: ['example.com'], networkMode: 'open' } })).toEqual([
    'security.allowedEgress',
  ]);
});

it('is entered by its own capabilities', () => {
  const effect = (grant: string, asked: string) => checkCapability(parseGrants([grant]), asked).effect;
  expect(effect('container:exec:shell', 'container:exec:shell')).toBe('allow');
  expect(effect('container:*:*', 'container:exec:shell')).toBe('allow');
  expect(effect('container:read:/work/**', 'container:read:/work/a/b')).toBe('allow');
  expect(effect('container:read:/work/**', 'container:write:/work/a')).toBe('deny');
  expect(effect('container:read:/work/**', 'container:read:/work/../etc/passwd')).toBe('deny');
  expect(effect('fs:read:/work/**', 'container:read:/work/a')).toBe('deny');
  for (const grant of ['container:exec:rm', 'container:delete:/a', 'container:read:work'])
    expect(() => parseGrants([grant]), grant).toThrow();
});
