import { z } from 'zod';
import { digestOf, plainText } from '../json.js';
import { runRequirements } from './worker-offer.js';
import { fileChanges } from './workspace-changes.js';

/** Where a container without a network may reach out to, through a proxy. */

/** `host`, `*.suffix`, `host:port` or `*.suffix:port`, in lower case. */
export const EGRESS_RULE = /^(\*\.)?[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?(:[1-9]\d{0,4})?$/;

/** Ports of rules that name none. */
const WEB_PORTS: ReadonlySet<number> = new Set([80, 443]);

/** Whether one of the rules names this host and port. `*.suffix` is every name below the suffix, and not the suffix itself. */
export function mayReach(rules: readonly string[], host: string, port: number): boolean {
  const name = host.toLowerCase().replace(/\.$/, '');
  return rules.some((rule) => {
    const [pattern = '', asked] = rule.split(':');
    const isNamed = pattern.startsWith('*.') ? name.endsWith(pattern.slice(1)) : name === pattern;
    return isNamed && (asked === undefined ? WEB_PORTS.has(port) : Number(asked) === port);
  });
}

/** Where secrets are: in memory, as files of their names. */
export const SECRETS_DIR = '/run/secrets';

/** Where the records of commands are kept in a container: beside the workspace, so that clearing that does not lose them. */
export const RECORDS_DIR = '/.holdfast';
/** Where what a test prints is kept if it is its report. A program that the test tries does not print there. */
export const PRINTED_REPORT = '/tmp/.tests-report/printed';

/** Where a container that may reach single hosts has the socket of the proxy. */
export const EGRESS_DIR = '/run/holdfast-egress';

const plain = (max: number, min = 1) =>
  z
    .string()
    .min(min)
    .max(max)
    .refine((text) => plainText(text) === text, 'holds NUL or a lone surrogate');

/** An absolute path in its only form, and not the root. */
const path = plain(4096).refine(
  (text) =>
    text.startsWith('/') &&
    !text
      .slice(1)
      .split('/')
      .some((part) => part === '' || part === '.' || part === '..'),
  'is not an absolute path without "//", "." and ".."',
);

/** Whether a path is another one, or below it. */
export const isWithin = (inner: string, outer: string): boolean => inner === outer || inner.startsWith(`${outer}/`);
export const meet = (a: string, b: string): boolean => isWithin(a, b) || isWithin(b, a);

/** Places of the host that no container sees: devices, the kernel, and sockets such as the engine's own. */
const KEPT_FROM_CONTAINERS = ['/dev', '/proc', '/sys', '/run', '/var/run', '/var/lib/docker', '/var/lib/containers'];
/** A path of a host as mounts name it. */
export const hostPath = path;

export const isKeptFromContainers = (source: string): boolean =>
  KEPT_FROM_CONTAINERS.some((kept) => meet(source, kept));

/** Places of a container that are not the user's to cover. */
const KEPT_IN_CONTAINERS = [RECORDS_DIR, SECRETS_DIR, EGRESS_DIR, '/dev', '/proc', '/sys', '/tmp'];

/** Whether a path of a container cannot be a workspace. */
export const isTakenInContainers = (target: string): boolean => KEPT_IN_CONTAINERS.some((kept) => meet(target, kept));

/** Where images have the programs that judge a run, and what these load by themselves. */
const PROGRAM_PLACES = [
  ...['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/usr/bin', '/usr/sbin', '/usr/lib', '/usr/lib32'],
  ...[
    '/usr/lib64',
    '/usr/libx32',
    '/usr/libexec',
    '/usr/local/bin',
    '/usr/local/sbin',
    '/usr/local/lib',
    '/usr/local/lib64',
  ],
  ...['/etc/alternatives', '/etc/ld.so.preload', '/etc/ld.so.conf.d', '/etc/ssl'],
];

/** Whether who writes to a directory of a container can replace programs of its image. */
export const holdsPrograms = (dir: string): boolean =>
  PROGRAM_PLACES.some((place) => meet(dir, place)) || /^\/etc\/python3[^/]*(\/|$)/.test(dir);

const resourceLimits = z.strictObject({
  memoryMb: z.int().min(16).max(1_048_576).nullable().default(2048),
  cpuCores: z.number().min(0.01).max(1024).nullable().default(1),
  /** Bound of what is written to the root file system, on the few engines that enforce one. */
  diskGb: z.int().min(1).max(65_536).nullable().default(null),
  networkMbps: z.int().min(1).max(1_000_000).nullable().default(null),
  maxProcesses: z.int().min(16).max(1_000_000).nullable().default(256),
});

const capability = z.string().regex(/^(ALL|(CAP_)?[A-Z][A-Z_]{2,40})$/, 'is no capability of Linux, such as NET_RAW');

const securityConfig = z.strictObject({
  /** `none`: not even the names of other hosts. `open`: whatever the engine's bridge reaches, its own host too. */
  networkMode: z.enum(['none', 'open']).default('none'),
  /** Hosts that may be reached although the mode is `none`: `host`, `*.suffix`, each with a `:port` or with 80 and 443. */
  allowedEgress: z
    .array(z.string().max(260).regex(EGRESS_RULE, 'is no host, *.suffix, host:port or *.suffix:port in lower case'))
    .max(1000)
    .default([]),
  dropCapabilities: z.array(capability).max(64).default(['ALL']),
  readOnlyRoot: z.boolean().default(true),
  noNewPrivileges: z.boolean().default(true),
  /** A profile as JSON; null: that of Holdfast, or the one that someone has given the engine. There is no way to have none. */
  seccompProfile: z.string().min(2).max(1_048_576).refine(isJsonObject, 'is no JSON object').nullable().default(null),
});

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

const mount = z.strictObject({
  source: path.refine((source) => !isKeptFromContainers(source), 'is a place of the host that no container may see'),
  target: path.refine((target) => !isTakenInContainers(target), 'is a place of the container that is taken'),
  readOnly: z.boolean().default(true),
});

const RESERVED_LABEL = 'holdfast.';

const snapshots = z.strictObject({
  /** Of one run; the oldest goes first. */
  most: z.int().min(1).max(20).default(3),
  /** After the end of the run. 0: they go with it. */
  keepHours: z.int().min(0).max(8760).default(24),
});

/** A container for the commands of one run. What is left out has the safe value; null is what has no limit. */
export const environmentSpec = z
  .strictObject({
    image: plain(512).refine((name) => /^[a-z0-9][\w./:@-]*$/i.test(name), 'is no name of an image'),
    /** The main process; null: one that waits. When it ends, the commands that are at work end with it. */
    command: z.array(plain(65_536)).min(1).max(1000).nullable().default(null),
    /** What everybody may read who sees the container. */
    env: z
      .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'is no name of a variable'), plain(32_768, 0))
      .default({}),
    /** Names of files in /run/secrets. Values are no part of this: it is stored, and engines show it. */
    secrets: z
      .array(z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/, 'is no name of a file in /run/secrets'))
      .max(100)
      .default([]),
    mounts: z.array(mount).max(32).default([]),
    /** Where commands begin, and what is kept while the run lives: a volume. */
    workdir: path.refine((dir) => !isTakenInContainers(dir), 'is taken').default('/work'),
    /** `uid` or `uid:gid`, in numbers: names are the image's. Not 0. */
    user: z
      .string()
      .regex(/^[1-9]\d{0,8}(:\d{1,9})?$/, 'is not uid:gid in numbers, or is root')
      .default('1000:1000'),
    labels: z
      .record(
        plain(128).refine((name) => !name.startsWith(RESERVED_LABEL), 'begins with "holdfast."'),
        plain(4096, 0),
      )
      .default({}),
    limits: resourceLimits.prefault({}),
    security: securityConfig.prefault({}),
    /** Copies of its files that are kept when the run pauses and when it is over, for forks and retries; null: none. */
    snapshots: snapshots.nullable().default(null),
    /** Has the log say for each call which files of the workspace changed; absent: it does not. */
    fileChanges: fileChanges.exactOptional(),
    /** Opens the container beside the first model call of each segment; absent: the first command opens it. */
    openEarly: z.literal(true).exactOptional(),
    /** What a worker must have to take the run; absent: a container engine is enough. */
    requires: runRequirements.exactOptional(),
    /** Whether it starts although the engine cannot enforce something of the above. */
    bestEffort: z.boolean().default(false),
  })
  .superRefine(({ mounts, workdir, fileChanges: watched, openEarly }, context) => {
    if (openEarly === true && watched !== undefined)
      context.addIssue({ code: 'custom', path: ['openEarly'], message: 'does not go with fileChanges' });
    const targets = [workdir];
    for (const [index, { target }] of mounts.entries()) {
      if (targets.some((other) => other === target))
        context.addIssue({ code: 'custom', path: ['mounts', index, 'target'], message: 'is mounted twice' });
      targets.push(target);
    }
  });

export type EnvironmentInput = z.input<typeof environmentSpec>;
export type EnvironmentSpec = z.output<typeof environmentSpec>;

/** By it a container is known to be what was asked for. */
export const specHashOf = (spec: EnvironmentSpec): string => digestOf(spec);

/** What this build cannot enforce on any engine, and says before one is asked. */
export function unenforceable({ limits, security }: EnvironmentSpec): readonly string[] {
  const none = security.networkMode === 'none';
  return [
    ...(limits.networkMbps !== null && !none ? ['limits.networkMbps: no engine bounds the traffic of a bridge'] : []),
    ...(limits.networkMbps !== null && none && security.allowedEgress.length > 0
      ? ['limits.networkMbps: the proxy of single hosts bounds no rate']
      : []),
    ...(security.allowedEgress.length > 0 && !none
      ? ['security.allowedEgress: with the networkMode open there are no bounds']
      : []),
  ];
}

/** The fields of a spec that let what is in its container reach beyond it, or weaken what keeps it there. As pointers within the spec. */
export function isolationExceptions({ mounts, security }: EnvironmentSpec): readonly string[] {
  const { networkMode, dropCapabilities, noNewPrivileges, seccompProfile } = security;
  const reaching: readonly (readonly [string, boolean])[] = [
    ['/mounts', mounts.length > 0],
    ['/security/networkMode', networkMode === 'open'],
    ['/security/dropCapabilities', !dropCapabilities.includes('ALL')],
    ['/security/noNewPrivileges', !noNewPrivileges],
    ['/security/seccompProfile', seccompProfile !== null],
  ];
  return reaching.flatMap(([pointer, reaches]) => (reaches ? [pointer] : []));
}
