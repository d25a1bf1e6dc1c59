import { type Agent, RunState } from '@openai/agents';
import { z } from 'zod';
import { jsonValue } from '../src/core/json.js';
import { hiddenOf, hideLoaded } from './hidden-past.js';
import { apartFromPast, pastItems, putBack } from './past-items.js';

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

const kept = z.object({ suspended: z.array(suspendedAgent).default([]), past: pastItems.default([]) });
const withKept = z.object({ holdfast: kept.optional() });

/**
 * The state of the agent that works as text: that of the SDK, and in a member of ours the turns that are over and the agents
 * behind tools that are not done. After a handoff the SDK cannot read the last response again: its tools and handoffs are
 * looked up at the new agent, who has others. That response is over by then; the SDK forgets it too where it resumes into a
 * handoff.
 */
export function stateText(state: RunState<unknown, Agent>, suspended: readonly SuspendedAgent[]): string {
  const handedOff = (state._lastProcessedResponse?.handoffs.length ?? 0) > 0;
  if (handedOff && state._currentStep?.type === 'next_step_run_again') state._lastProcessedResponse = undefined;
  const { past, rest } = apartFromPast(state, () => state.toJSON());
  const hidden = hiddenOf(state);
  const originalInput = hidden?.originalInput ?? rest.originalInput;
  return JSON.stringify({ ...rest, originalInput, holdfast: { suspended, past: [...(hidden?.past ?? []), ...past] } });
}

/** The state of a text that `stateText` wrote. `work`: it is worked on, by the agent of the run itself. */
export async function stateOfText(agent: Agent, text: string, work: boolean): Promise<RunState<unknown, Agent>> {
  const state = await RunState.fromString<unknown, Agent>(agent, text);
  const { past } = keptIn(JSON.parse(text));
  putBack(state, agent, past);
  if (work) hideLoaded(state, agent, past);
  return state;
}

/** The agents behind tools that a state was kept with. */
export const suspendedIn = (state: unknown): readonly SuspendedAgent[] => keptIn(state).suspended;

const keptIn = (state: unknown): z.infer<typeof kept> => withKept.parse(state).holdfast ?? kept.parse({});
