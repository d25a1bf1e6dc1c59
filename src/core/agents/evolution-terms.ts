import { z } from 'zod';
import type { GrantEffect } from '../grants/grants.js';
import { nameWithoutControls } from '../json.js';
import type { Scaffold } from './scaffold.js';

/** Which agents patches may change, and who decides. */
export interface EvolutionConfig<Tool = unknown> {
  /** Agents that patches may change. */
  readonly agents: readonly string[];
  /** How many people must approve a patch; none of them is who proposed it. Default 2. */
  readonly approvals?: number;
  /** What runs of a trial may do. Default: nothing but answer. */
  readonly trialGrants?: readonly (string | { readonly capability: string; readonly effect: GrantEffect })[];
  /** Other versions of tools, which a patch may put in the place of those of the same name. */
  readonly tools?: readonly Tool[];
  /** Other scaffolds, which a patch may put in the place of that of an agent. */
  readonly scaffolds?: readonly Scaffold<Tool>[];
}

const OFFERED_MOST = 100;
const anObject = z.custom<object>((value) => typeof value === 'object' && value !== null, 'expected an object');

export const evolutionConfig = z.strictObject({
  agents: z
    .array(nameWithoutControls)
    .min(1)
    .max(100)
    .refine((names) => new Set(names).size === names.length, 'has a name twice'),
  approvals: z.int().min(1).max(20).optional(),
  trialGrants: z
    .array(z.union([z.string(), z.strictObject({ capability: z.string(), effect: z.enum(['allow', 'ask', 'deny']) })]))
    .max(100)
    .optional(),
  tools: z.array(anObject).max(OFFERED_MOST).optional(),
  scaffolds: z.array(anObject).max(OFFERED_MOST).optional(),
});

export type EvolutionTerms = Required<Omit<EvolutionConfig, 'tools' | 'scaffolds'>>;

export const termsOf = ({ agents, approvals = 2, trialGrants = [] }: EvolutionConfig): EvolutionTerms => ({
  ...{ agents, approvals, trialGrants },
});
