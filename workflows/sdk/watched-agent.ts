import type { Agent, InputGuardrail, OutputGuardrail } from '@openai/agents';
import { HoldfastError } from '../../src/core/errors/errors.js';
import type { JsonValue } from '../../src/core/json.js';
import { instrumentTool } from '../../src/tools/define/watched-tool.js';
import { callbackStep } from '../callback-step.js';
import { asDurable } from '../model-turn/durable-model.js';
import { endingBy, toolsWith } from '../model-turn/run-scaffold.js';
import type { RecordedSource } from '../replay/recorded-source.js';
import { currentSegment, type SegmentContext } from '../segment-context.js';
import { overrideProperty } from './read-through.js';
import { inHook } from './refusal.js';

const instrumented = new WeakSet<Agent>();

/**
 * Makes what an agent carries itself durable, for as long as it is read inside a segment: its model, its guardrails and its
 * `toolUseBehavior`; its hooks and its tools are kept from what would run outside of a guard. Elsewhere the same agent works
 * plainly.
 */
export function instrumentAgent(agent: Agent): void {
  if (instrumented.has(agent)) return;
  instrumented.add(agent);
  inside(agent, 'model', (_scope, model) => (typeof model === 'object' ? asDurable(model, agent.name) : model));
  inside(agent, 'inputGuardrails', (scope, guardrails) =>
    guardrails.map((guardrail) => inputGuardrail(scope, agent, guardrail)),
  );
  inside(agent, 'outputGuardrails', (scope, guardrails) =>
    guardrails.map((guardrail) => outputGuardrail(scope, agent, guardrail)),
  );
  inside(agent, 'tools', (scope, tools) => toolsWith(scope, agent, tools));
  inside(agent, 'toolUseBehavior', (scope, behavior) => toolUseBehavior(scope, agent, behavior));
  for (const tool of agent.tools) if (tool.type === 'function') instrumentTool(tool);
  instrumentHooks(agent);
}

/** Lifecycle hooks work in a place of their own: they are called within the loop, and nobody waits for them. */
function instrumentHooks(agent: Agent): void {
  const { emit } = agent;
  const value = (...event: unknown[]): unknown => {
    const scope = currentSegment();
    if (typeof scope === 'object' && scope.recorded?.hears('hook') === false) return true;
    const tell = () => Reflect.apply(emit, agent, event);
    return typeof scope === 'object' ? inHook(scope, tell) : tell();
  };
  Object.defineProperty(agent, 'emit', { configurable: true, writable: true, value });
}

/** `read` says what the SDK sees of a property inside a segment. */
function inside<K extends 'tools' | 'model' | 'inputGuardrails' | 'outputGuardrails' | 'toolUseBehavior'>(
  agent: Agent,
  key: K,
  read: (scope: SegmentContext, value: Agent[K]) => Agent[K],
): void {
  overrideProperty(agent, key, (value) => {
    const scope = currentSegment();
    return typeof scope === 'object' ? read(scope, value) : value;
  });
}

type GuardrailAnswer = Awaited<ReturnType<InputGuardrail['execute']>>;

/** Input guardrails are always heard before the first model call: beside it, a replay could see another order of steps. */
const inputGuardrail = (scope: SegmentContext, agent: Agent, guardrail: InputGuardrail): InputGuardrail => ({
  ...guardrail,
  runInParallel: false,
  execute: (args) =>
    verdictOf(
      scope,
      `guardrail:input:${agent.name}:${guardrail.name}`,
      () => guardrail.execute(args),
      (source) => verdict(source.stoppedBefore(scope.turns + 1)),
    ),
});

const outputGuardrail = (scope: SegmentContext, agent: Agent, guardrail: OutputGuardrail): OutputGuardrail => ({
  ...guardrail,
  execute: (args) =>
    verdictOf(
      scope,
      `guardrail:output:${agent.name}:${guardrail.name}`,
      () => guardrail.execute(args),
      (source) => verdict(source.stoppedAtEnd(scope.parentCall !== null)),
    ),
});

const verdict = (tripwireTriggered: boolean | undefined): JsonValue | undefined =>
  tripwireTriggered === undefined ? undefined : { tripwireTriggered, outputInfo: null };

async function verdictOf(
  scope: SegmentContext,
  name: string,
  ask: () => Promise<GuardrailAnswer>,
  recorded: (source: RecordedSource) => JsonValue | undefined,
): Promise<GuardrailAnswer> {
  const answer = await callbackStep(scope, name, ask, recorded);
  if (typeof answer === 'object' && answer !== null && !Array.isArray(answer) && 'tripwireTriggered' in answer) {
    return { tripwireTriggered: answer['tripwireTriggered'] === true, outputInfo: answer['outputInfo'] ?? null };
  }
  throw new Error(`${name} did not say whether it was triggered (tripwireTriggered)`);
}

/**
 * Results that are not there yet must not end a run: after a call that waits, the agent always asks its model again, which
 * is refused.
 */
function toolUseBehavior(
  scope: SegmentContext,
  agent: Agent,
  behavior: Agent['toolUseBehavior'],
): Agent['toolUseBehavior'] {
  if (scope.stop !== null) return 'run_llm_again';
  const ending = endingBy(scope, agent);
  if (ending !== null) return ending;
  if (typeof behavior !== 'function') return behavior;
  return async (context, results) => {
    const said = await callbackStep(
      scope,
      `tool-use:${agent.name}`,
      () => behavior(context, results),
      (source) => source.afterTools(scope.turns + 1, agent.name, scope.parentCall?.callId ?? null),
    );
    if (typeof said !== 'object' || said === null || !('isFinalOutput' in said))
      throw new HoldfastError(
        'agent_invalid',
        `toolUseBehavior of ${agent.name} did not say whether it is final (isFinalOutput).`,
      );
    return said['isFinalOutput'] === true
      ? { isFinalOutput: true, isInterrupted: undefined, finalOutput: textOf(said['finalOutput']) }
      : { isFinalOutput: false, isInterrupted: undefined };
  };
}

const textOf = (output: JsonValue | undefined): string =>
  typeof output === 'string' ? output : JSON.stringify(output ?? null);
