import { DBOS } from '@dbos-inc/dbos-sdk';
import { HoldfastError } from '../src/core/errors.js';
import { isDeclared } from '../src/tools/define-tool.js';
import type { AskedCall } from './plan-calls.js';
import { type GuardedTool, inStep, type SegmentScope, SegmentStop } from './segment-scope.js';

/** Callbacks of the user that steer a call. Each runs as one step, so that a replay hears the same answer. */

async function asStep<T>(scope: SegmentScope, name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await DBOS.runStep(() => inStep(work), { name });
  } catch (error) {
    scope.broken ??= { error };
    throw error;
  }
}

/** As the SDK parses them for a tool; its types say `string` where the tool declares no schema. */
const argumentsOf = (text: string): never => {
  try {
    return JSON.parse(text === '' ? '{}' : text) as never;
  } catch {
    return {} as never;
  }
};

/** What the tool of a plain SDK program says of an approval. A callback that throws asks a person. */
export function needsApproval(scope: SegmentScope, guard: GuardedTool, call: AskedCall): Promise<boolean> {
  const { original, context } = guard;
  if (isDeclared(original)) return Promise.resolve(false);
  return asStep(scope, `approval:${original.name}:${call.callId}`, async () => {
    try {
      return await original.needsApproval(context, argumentsOf(call.arguments), call.callId);
    } catch {
      return true;
    }
  });
}

type Verdict = { readonly type: 'allow' } | { readonly type: 'reject' | 'trip'; readonly message: string };

/** What the input guardrails of a tool say of a call; null: it may run. A tripped one ends the run. */
export async function guardrailRefusal(
  scope: SegmentScope,
  guard: GuardedTool,
  call: AskedCall,
): Promise<string | null> {
  const guardrails = guard.original.inputGuardrails ?? [];
  const agent = scope.state?.currentAgent;
  if (guardrails.length === 0 || agent === undefined) return null;
  const toolCall = {
    ...{ type: 'function_call' as const, callId: call.callId, name: call.name },
    ...{ arguments: call.arguments, status: 'completed' as const },
  };
  const verdict = await asStep(scope, `guardrail:${call.name}:${call.callId}`, async (): Promise<Verdict> => {
    for (const guardrail of guardrails) {
      try {
        const { behavior } = await guardrail.run({ context: guard.context, agent, toolCall });
        if (behavior.type === 'rejectContent') return { type: 'reject', message: String(behavior.message) };
        if (behavior.type === 'throwException')
          return { type: 'trip', message: `${guardrail.name} stopped the call ${call.callId} of ${call.name}.` };
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        return { type: 'trip', message: `The guardrail ${guardrail.name} failed: ${why}` };
      }
    }
    return { type: 'allow' };
  });
  if (verdict.type === 'trip') {
    scope.stop = { type: 'failed', error: new HoldfastError('guardrail_tripped', verdict.message).view() };
    throw new SegmentStop(scope.stop);
  }
  return verdict.type === 'reject' ? verdict.message : null;
}
