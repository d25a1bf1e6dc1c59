import { z } from 'zod';
import type { EventDraft } from '../log/event.js';
import type { DecisionView, InterruptionReason } from './interruption.js';

/** Who allowed a call in a run that a fork was made of. A fork shows it, and asks again before it executes the call. */
export const allowedElsewhere = z.object({ runId: z.string(), by: z.array(z.string()) });
export type AllowedElsewhere = z.infer<typeof allowedElsewhere>;

/** The sentence that a person reads who is asked again. */
export const elsewhereText = (how: 'approved' | 'answered', { runId, by }: AllowedElsewhere): string =>
  `It was ${how} in run ${runId} by ${by.join(', ')}.`;

/** The sentence about a call that was begun, or was about to begin, by what people allowed in another run. */
export const begunElsewhereText = (tool: string, elsewhere: AllowedElsewhere): string =>
  `${tool} was approved in run ${elsewhere.runId} by ${elsewhere.by.join(', ')}, and may have happened there. Approve to run it here, answer with its result if it did happen, or reject to go on without it.`;

/** Who made the decisions of another run by which a call would be executed; null: none of them would execute it. */
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
  }
  return allowed;
}
