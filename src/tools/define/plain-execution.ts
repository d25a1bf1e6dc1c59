import { randomUUID } from 'node:crypto';
import type { FunctionTool } from '@openai/agents';
import { HoldfastError } from '../../core/errors/errors.js';
import { isInterruption } from '../../core/interruptions/wait.js';
import type { JsonValue } from '../../core/json.js';
import { seededRandom } from '../../core/seeded-random.js';
import { noState } from '../../core/tools/agent-state.js';
import type { ToolContext, ToolSpec } from '../../core/tools/tool.js';
import { noEnvironment } from '../../core/tools/tool-environment.js';
import { noMemory } from '../../core/tools/tool-memory.js';
import { boundOutput } from './output-bound.js';
import { assertInvokable } from './watched-tool.js';

type ToolCallDetails = NonNullable<Parameters<FunctionTool['invoke']>[2]>;

/**
 * Runs a declared tool in a plain run of the Agents SDK. There are no grants outside the engine, so nothing is enforced:
 * `require` accepts everything. Time and output are bounded as inside.
 */
export async function executePlainly(
  spec: ToolSpec,
  input: unknown,
  details: ToolCallDetails = {},
): Promise<JsonValue> {
  await assertInvokable(spec.name);
  const timeout = AbortSignal.timeout(spec.timeoutMs);
  const signal = details.signal === undefined ? timeout : AbortSignal.any([details.signal, timeout]);
  const value = await Promise.race([
    spec.execute(input, contextOf(spec, details, signal)),
    aborted(spec, signal, timeout),
  ]);
  if (isInterruption(value)) {
    const what = `${spec.name} must wait (${value.spec.kind}), which only a run of the engine can do.`;
    throw new HoldfastError('engine_not_running', what);
  }
  const parsed = spec.parseOutput(value);
  if (!parsed.ok) throw new HoldfastError('tool_failed', parsed.problem);
  return boundOutput(spec, parsed.output);
}

function contextOf(spec: ToolSpec, details: ToolCallDetails, signal: AbortSignal): ToolContext {
  const callId = details.toolCall?.callId ?? randomUUID();
  const idempotencyKey = `plain:${callId}`;
  return {
    runId: 'plain',
    callId,
    tenant: 'default',
    agent: details.toolCall?.name ?? spec.name,
    idempotencyKey,
    signal,
    now: Date.now,
    logicalTime: async () => 0,
    state: noState('A plain run'),
    random: seededRandom(idempotencyKey),
    require: () => {},
    memory: noMemory('A plain run'),
    environment: noEnvironment('A plain run'),
  };
}

const aborted = (spec: ToolSpec, signal: AbortSignal, timeout: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    const stop = () => {
      const late = new HoldfastError('tool_failed', `${spec.name} did not end within ${spec.timeoutMs} ms.`);
      reject(timeout.aborted ? late : signal.reason);
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
