import { z } from 'zod';
import { checkCapability } from '../grants/capability.js';
import { parseGrants } from '../grants/grants.js';
import type { EventDraft } from '../log/event.js';
import type { DecisionView, InterruptionReason } from './interruption.js';

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

/** The standing decision that spares a call an approval of its own: of its agent, tool and version, and wide enough. */
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

/** Who allowed a call in a run that a fork was made of. A fork shows it, and asks again before it executes the call. */
export const allowedElsewhere = z.object({ runId: z.string(), by: z.array(z.string()) });
export type AllowedElsewhere = z.infer<typeof allowedElsewhere>;

/** The sentence that a person reads who is asked again. */
export const elsewhereText = (how: 'approved' | 'answered', { runId, by }: AllowedElsewhere): string =>
  `It was ${how} in run ${runId} by ${by.join(', ')}.`;

/** The sentence about a call that was begun, or was about to begin, by what people allowed in another run. */
export const begunElsewhereText = (tool: string, elsewhere: AllowedElsewhere): string =>
  `${tool} was approved in run ${elsewhere.runId} by ${elsewhere.by.join(', ')}, and may have happened there. Approve to run it here, answer with its result if it did happen, or reject to go on without it.`;

/** Who made the decisions of another run that would let a call be executed; null: none of them would execute it. */
export function allowedBy(
  originRunId: string | null,
  reason: InterruptionReason,
  decisions: readonly DecisionView[],
): AllowedElsewhere | null {
  const verdict = decisions.at(-1)?.verdict;
  const executes = reason === 'question' ? verdict === 'answer' || verdict === 'reject' : verdict === 'approve';
  if (originRunId === null || reason === 'budget' || !executes) return null;
  const said = decisions.filter((decision) => decision.verdict === verdict);
  return { runId: originRunId, by: [...new Set(said.map(({ actor }) => actor))] };
}

/** Who allowed each call of a log, by call id: with an approval of its own, or with a decision that stands. */
export function allowedIn(events: readonly EventDraft[]): ReadonlyMap<string, readonly string[]> {
  const callOf = new Map<string, string | null>();
  const actorsOf = new Map<string, string>();
  const allowed = new Map<string, string[]>();
  const add = (callId: string | null | undefined, actor: string): void => {
    if (callId == null) return;
    const by = allowed.get(callId) ?? [];
    if (!by.includes(actor)) allowed.set(callId, [...by, actor]);
  };
  for (const { kind, data } of events) {
    if (kind === 'interruption.requested') callOf.set(data.id, data.callId);
    if (kind === 'interruption.voted') add(callOf.get(data.id), data.actor);
    if (kind === 'interruption.decided' && data.verdict === 'approve') add(callOf.get(data.id), data.actor);
    if (kind === 'standing_decision.made') actorsOf.set(data.id, data.actor);
    if (kind === 'call.checked' && data.standingDecision !== undefined)
      add(data.callId, actorsOf.get(data.standingDecision) ?? data.standingDecision);
    if (kind === 'call.checked') for (const actor of data.approvedPlan?.by ?? []) add(data.callId, actor);
  }
  return allowed;
}
