import { z } from 'zod';
import { EGRESS_RULE } from './egress.js';
import type { EnvironmentSpec } from './environment-spec.js';

/** What a container may take and reach that an operator asks for. An admin may go beyond it. */
export const ceilings = z.strictObject({
  memoryMb: z.int().min(16).nullable().default(4096),
  cpuCores: z.number().min(0.01).nullable().default(4),
  maxProcesses: z.int().min(16).nullable().default(1024),
  /** Rules that may be asked for, and what is narrower than one of them. */
  allowedEgress: z.array(z.string().max(260).regex(EGRESS_RULE)).max(1000).default([]),
  bestEffort: z.boolean().default(false),
  writableRoot: z.boolean().default(false),
});
export type CeilingsConfig = z.input<typeof ceilings>;
export type Ceilings = z.output<typeof ceilings>;

/** Null has no limit. */
const exceeds = (asked: number | null, ceiling: number | null): boolean =>
  ceiling !== null && (asked === null || asked > ceiling);

/** Whether one of the rules lets through all that the asked one does. */
function isCovered(asked: string, rules: readonly string[]): boolean {
  const [name = '', port] = asked.split(':');
  return rules.some((rule) => {
    const [pattern = '', allowed] = rule.split(':');
    const isNamed = name === pattern || (pattern.startsWith('*.') && name.endsWith(pattern.slice(1)));
    // A rule without a port is for 80 and 443.
    return isNamed && (allowed === port || (allowed === undefined && (port === '80' || port === '443')));
  });
}

/** The fields of a spec that lie above the ceilings, as pointers within it. */
export function aboveCeilings({ limits, security, bestEffort }: EnvironmentSpec, most: Ceilings): readonly string[] {
  const above: readonly (readonly [string, boolean])[] = [
    ['/limits/memoryMb', exceeds(limits.memoryMb, most.memoryMb)],
    ['/limits/cpuCores', exceeds(limits.cpuCores, most.cpuCores)],
    ['/limits/maxProcesses', exceeds(limits.maxProcesses, most.maxProcesses)],
    ['/security/readOnlyRoot', !security.readOnlyRoot && !most.writableRoot],
    ['/bestEffort', bestEffort && !most.bestEffort],
  ];
  const hosts = security.allowedEgress.flatMap((rule, index) =>
    isCovered(rule, most.allowedEgress) ? [] : [`/security/allowedEgress/${index}`],
  );
  return [...above.flatMap(([pointer, isAbove]) => (isAbove ? [pointer] : [])), ...hosts];
}
