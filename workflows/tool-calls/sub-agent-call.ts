import { startedChild } from '../../src/core/agents/sub-agent.js';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { type CallWait, waitForChild } from '../../src/core/interruptions/wait.js';
import { toJson } from '../../src/core/json.js';
import { subAgentOf } from '../../src/tools/define/sub-agent.js';
import { startChild } from '../../steps/agents/start-child.js';
import type { AuthorizedCall, SegmentContext } from '../segment-context.js';

/** The body of a sub-agent's call: starts the child, once, and waits for it. Undefined: the tool is no sub-agent. */
export function subAgentBody(scope: SegmentContext, authorized: AuthorizedCall): (() => Promise<unknown>) | undefined {
  const spec = subAgentOf(authorized.wrapped.original);
  if (spec === undefined) return undefined;
  const { id, grants, limits } = scope.run;
  const parent = { id, grants, limits, turns: scope.turns, totalTokens: scope.totalTokens };
  return async () => {
    const agent = scope.agents.get(spec.agent);
    if (agent === undefined) {
      throw new HoldfastError('agent_unknown', `The agent ${spec.agent} is not in the configuration of this worker.`);
    }
    // The child names the event of its parent that it follows from.
    await scope.log.flush();
    const { callId, checkedEventKey: causeKey, input } = authorized;
    const started = await startChild(scope.ctx, { parent, callId, causeKey, spec, agent, input });
    return waitForChild(started.childRunId, toJson(started));
  };
}

/** Logs which run a call waits for, as it was recorded when the run was started. Returns what the wait follows from. */
export function logChild(
  scope: SegmentContext,
  authorized: AuthorizedCall,
  wait: CallWait,
  startedKey: string,
): string {
  if (subAgentOf(authorized.wrapped.original) === undefined) return startedKey;
  const started = startedChild.parse(wait.memo);
  return scope.log.add('child.started', { callId: authorized.callId, ...started }, startedKey);
}
