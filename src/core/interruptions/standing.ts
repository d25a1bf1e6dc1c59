import { z } from 'zod';
import { checkCapability } from '../grants/capability.js';
import { parseGrants } from '../grants/grants.js';

/** "Always for this tool and scope in this run": approves later calls, and grants nothing. */
export const standingDecisionView = z
  .object({
    id: z.string(),
    runId: z.string(),
    interruptionId: z.string().describe('The approval that it was made with.'),
    agent: z.string(),
    tool: z.string(),
    toolVersion: z.string(),
    scope: z.array(z.string()).describe('Capabilities; every one that a call needs must be covered.'),
    exact: z.boolean().describe('Whether the scope is literal. Else it is written like grants.'),
    actor: z.string(),
    madeAt: z.iso.datetime(),
    revokedAt: z.iso.datetime().nullable(),
    revokedBy: z.string().nullable(),
  })
  .meta({ id: 'StandingDecision' });
export type StandingDecisionView = z.infer<typeof standingDecisionView>;

/** A standing decision as a segment works by it. */
export type StandingRule = Pick<
  StandingDecisionView,
  'id' | 'agent' | 'tool' | 'toolVersion' | 'scope' | 'exact' | 'actor'
>;

export interface Standing {
  readonly rule: StandingRule;
  /** Whether a capability, as `checkCapability` normalises it, is in the scope. */
  readonly covers: (capability: string) => boolean;
}

/** Throws `capability_invalid` for a scope that is not written like grants. */
export function standingOf(rule: StandingRule): Standing {
  if (rule.exact) return { rule, covers: (capability) => rule.scope.includes(capability) };
  const grants = parseGrants(rule.scope);
  return { rule, covers: (capability) => checkCapability(grants, capability).effect === 'allow' };
}

/** The standing decision by which a call needs no approval of its own: of its agent, tool and version, and wide enough. */
export const standingFor = (
  standing: readonly Standing[],
  call: { readonly agent: string; readonly tool: string; readonly version: string; readonly needs: readonly string[] },
): Standing | null =>
  standing.find(
    ({ rule, covers }) =>
      rule.agent === call.agent &&
      rule.tool === call.tool &&
      rule.toolVersion === call.version &&
      call.needs.every(covers),
  ) ?? null;

/** One standing decision comes of one approval at most. */
export const standingId = (interruptionId: string): string => interruptionId.replace(/^int_/, 'std_');
