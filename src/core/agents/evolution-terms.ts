import { z } from 'zod';
import type { GrantEffect } from '../grants/grants.js';
import { nameWithoutControls } from '../json.js';

/** Which agents patches may change, and who decides. */
export interface EvolutionConfig {
  /** Agents that patches may change. */
  readonly agents: readonly string[];
  /** How many people must approve a patch; none of them is who proposed it. Default 2. */
  readonly approvals?: number;
  /** What runs of a trial may do. Default: nothing but answer. */
  readonly trialGrants?: readonly (string | { readonly capability: string; readonly effect: GrantEffect })[];
}

export const evolutionConfig = z.strictObject({
  agents: z.array(nameWithoutControls).min(1).max(100),
  approvals: z.int().min(1).max(20).optional(),
  trialGrants: z
    .array(z.union([z.string(), z.strictObject({ capability: z.string(), effect: z.enum(['allow', 'ask', 'deny']) })]))
    .max(100)
    .optional(),
});

export type EvolutionTerms = Required<EvolutionConfig>;

export const termsOf = ({ agents, approvals = 2, trialGrants = [] }: EvolutionConfig): EvolutionTerms => ({
  ...{ agents, approvals, trialGrants },
});
