import type { Agent, RunState } from '@openai/agents';
import { z } from 'zod';
import { jsonValue } from '../src/core/json.js';
import type { SegmentScope } from './segment-scope.js';

/** A call of an agent as a tool whose agent is in the middle of its work, as a state keeps it. */
const suspendedAgent = z.object({
  callId: z.string(),
  tool: z.string(),
  agent: z.string(),
  arguments: jsonValue,
  /** The state of the agent behind the tool; null: it has not begun. */
  state: z.string().nullable(),
});
export type SuspendedAgent = z.infer<typeof suspendedAgent>;

const withSuspended = z.object({ holdfast: z.object({ suspended: z.array(suspendedAgent) }) });

/**
 * The state of the agent that works as text: that of the SDK, and in a member of ours the agents behind tools that are not
 * done. After a handoff the SDK cannot read the last response again: its tools and handoffs are looked up at the new agent,
 * who has others. That response is over by then; the SDK forgets it too where it resumes into a handoff.
 */
export function stateText(scope: SegmentScope, state: RunState<unknown, Agent>): string {
  const handedOff = (state._lastProcessedResponse?.handoffs.length ?? 0) > 0;
  if (handedOff && state._currentStep?.type === 'next_step_run_again') state._lastProcessedResponse = undefined;
  const text = state.toString();
  if (scope.suspended.length === 0) return text;
  const parsed: object = JSON.parse(text);
  return JSON.stringify({ ...parsed, holdfast: { suspended: scope.suspended } });
}

/** The agents behind tools that a state was kept with. */
export function suspendedIn(state: unknown): readonly SuspendedAgent[] {
  const parsed = withSuspended.safeParse(state);
  return parsed.success ? parsed.data.holdfast.suspended : [];
}
