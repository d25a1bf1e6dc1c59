import type { ModelRequest } from '@openai/agents';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { checkCapability } from '../../src/core/grants/capability.js';
import { type SegmentContext, SegmentStop } from '../segment-context.js';

/** They lead to function tools of the agent alone, and each call of these is judged by itself. */
const REACHES_GUARDED_TOOLS: ReadonlySet<string> = new Set(['tool_search', 'programmatic_tool_calling']);

/**
 * Refuses a request that offers the model a tool of its provider which is not granted: the provider executes it within the model call, so
 * it is judged before, as an unsafe call. `ask` refuses too: the worker never hears of such a call in time. What a log has was let
 * through before.
 */
export function assertHostedGranted(scope: SegmentContext, { tools }: ModelRequest): void {
  if (scope.source.asked(scope.turns + 1)) return;
  for (const tool of tools) {
    if (tool.type !== 'hosted_tool' || REACHES_GUARDED_TOOLS.has(tool.name)) continue;
    const capability = `hosted:call:${tool.name}`;
    const check = checkCapability(scope.run.grants, capability, scope.memory.labels);
    if (check.effect === 'allow') continue;
    const how =
      check.effect === 'ask' ? 'the grant asks, and no person can be asked within a model call' : check.reason;
    const message = `The tool ${tool.name} of the provider is not granted: ${how} Grant ${capability}, or take the tool away.`;
    scope.stop = { type: 'failed', error: new HoldfastError('capability_denied', message).view() };
    throw new SegmentStop(scope.stop);
  }
}
