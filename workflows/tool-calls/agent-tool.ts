import { Agent, type FunctionTool } from '@openai/agents';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { toJson } from '../../src/core/json.js';
import { invokeOf } from '../../src/tools/define/watched-tool.js';
import { stateText } from '../resume/state-text.js';
import type { AgentToolResult } from '../segment-context.js';
import { type AuthorizedCall, type SegmentContext, withNestedLoop } from '../segment-context.js';
import { callItem } from './tool-body.js';

/**
 * An agent as a tool (`agent.asTool()`), or a copy of one. The SDK keeps to itself which tools these are, but gives `on` to no others,
 * made by one and the same line of it: a tool that brings a method `on` of its own is a tool like every other.
 */
export const isAgentTool = (tool: FunctionTool): boolean =>
  'on' in tool && typeof tool.on === 'function' && sourceOf(tool.on) === listeningOf();

const sourceOf = (method: unknown): string => Function.prototype.toString.call(method);

let listening: string | null = null;
/** The source of the method `on` that the SDK gives to agents as tools. */
function listeningOf(): string {
  if (listening === null) {
    const made = new Agent({ name: 'any' }).asTool({ toolName: 'any', toolDescription: 'any' });
    if (typeof made.on !== 'function')
      throw new HoldfastError('library_changed', 'Agent.asTool of @openai/agents gives no method `on` any more.');
    listening = sourceOf(made.on);
  }
  return listening;
}

/**
 * Lets the agent behind a tool work, inside the run of its caller: its model calls and tool calls are steps of this
 * workflow. It goes on from the state that it was suspended in, if it was. Agents as tools work one after the other, after
 * the other calls of their response, so that a replay gives each of their steps the same place.
 */
export async function runAgentTool(scope: SegmentContext, authorized: AuthorizedCall): Promise<AgentToolResult> {
  const { agentState: text } = authorized;
  if (scope.stop !== null || scope.siblings.signal.aborted) return { type: 'suspended', state: text };
  const { original, context } = authorized.wrapped;
  const details = {
    toolCall: callItem(authorized.callId, original.name, authorized.argumentsText),
    parentRunConfig: { modelProvider: scope.provider, tracingDisabled: true },
    ...(text === null ? {} : { resumeState: text }),
  };
  return withNestedLoop(scope, { callId: authorized.callId, text }, async () => {
    const output: unknown = await invokeOf(original)(context, authorized.argumentsText, details);
    if (scope.broken !== null) throw scope.broken.error;
    // The SDK makes a result of whatever stopped the agent; what stopped it decides.
    // A recorded outcome may be an edit of what the agent said.
    if (scope.stop === null)
      return {
        type: 'settled',
        outcome: scope.source.outcome(authorized.callId) ?? { type: 'output', output: toJson(output) },
      };
    return { type: 'suspended', state: scope.state === null ? text : stateText(scope.state, scope.suspended) };
  });
}
