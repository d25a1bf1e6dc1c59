import {
  Agent,
  getHandoff,
  type Handoff,
  type InputGuardrail,
  type OutputGuardrail,
  type RunContext,
  type Tool,
} from '@openai/agents';
import { HoldfastError } from '../../src/core/errors/errors.js';
import type { JsonValue } from '../../src/core/json.js';
import { nameOf } from '../../src/tools/define/define-tool.js';
import { instrumentTool, setInstrumentation } from '../../src/tools/define/watched-tool.js';
import type { CallSource } from '../call-source.js';
import { callbackStep, calledIn } from '../durable-step.js';
import { asDurable } from '../model-turn/durable-model.js';
import { endingBy, toolsWith } from '../model-turn/run-scaffold.js';
import { currentSegment, type SegmentContext } from '../segment-context.js';
import { assertMethod, assertRunStateFields } from './sdk-internals.js';
import { inHook, refuse, unguarded, unsupportedAgent, unsupportedAgentInStep, unsupportedTool } from './unsupported.js';
import { wrapTool } from './wrap-tool.js';

let installed = false;

/**
 * Patches how the SDK gets the tools, handoffs and instructions of an agent, so that handed-off agents are
 * covered too. Active only inside a segment: elsewhere the same agents work plainly.
 */
export function patchAgent(): void {
  if (installed) return;
  const { getAllTools, getEnabledHandoffs, getSystemPrompt, getPrompt } = Agent.prototype;
  for (const [name, method] of Object.entries({ getAllTools, getEnabledHandoffs, getSystemPrompt, getPrompt }))
    assertMethod(`Agent.prototype.${name}`, method);
  assertRunStateFields(new Agent({ name: 'any' }));
  Agent.prototype.getAllTools = async function toolsInSegment(this: Agent, ...args: Parameters<typeof getAllTools>) {
    const scope = currentSegment();
    if (scope === undefined) return getAllTools.apply(this, args);
    if (scope === 'step') {
      const tools = await getAllTools.apply(this, args);
      const unsupported = unsupportedAgentInStep(this, tools);
      return unsupported === null ? tools : refuse(unsupported);
    }
    instrumentAgent(this);
    const mcp: Tool[] = await this.getMcpTools(...args);
    const tools = [...mcp, ...(await enabledTools(scope, this, args[0]))];
    const unsupported = tools.map(unsupportedTool).find((problem) => problem !== null);
    if (unsupported !== undefined) return refuse(unsupported);
    return tools.map((tool) => (tool.type === 'function' ? wrapTool(scope, tool, args[0]) : tool));
  };
  Agent.prototype.getEnabledHandoffs = async function handoffsInSegment(this: Agent, context: RunContext) {
    const scope = currentSegment();
    if (scope === undefined) return getEnabledHandoffs.call(this, context);
    const enabled =
      scope === 'step' ? await getEnabledHandoffs.call(this, context) : await enabledHandoffs(scope, this, context);
    const unsupported = enabled.map(({ agent }) => unsupportedAgent(agent)).find((problem) => problem !== null);
    return unsupported === undefined ? enabled : refuse(unsupported);
  } as typeof getEnabledHandoffs;
  Agent.prototype.getSystemPrompt = async function instructionsInSegment(this: Agent, context: RunContext) {
    const scope = currentSegment();
    if (typeof scope !== 'object' || typeof this.instructions !== 'function')
      return getSystemPrompt.call(this, context);
    const said = await callbackStep(
      scope,
      `instructions:${this.name}`,
      () => getSystemPrompt.call(this, context),
      unneeded(scope, `the instructions of ${this.name}, a function`),
    );
    return said === null ? undefined : String(said);
  } as typeof getSystemPrompt;
  Agent.prototype.getPrompt = async function promptInSegment(this: Agent, context: RunContext) {
    const scope = currentSegment();
    if (typeof scope !== 'object' || typeof this.prompt !== 'function') return getPrompt.call(this, context);
    const said = await callbackStep(
      scope,
      `prompt:${this.name}`,
      () => getPrompt.call(this, context),
      unneeded(scope, `the prompt of ${this.name}, a function`),
    );
    // The SDK takes what the callback gave; it is the same, as JSON.
    return (said ?? undefined) as Awaited<ReturnType<typeof getPrompt>>;
  } as typeof getPrompt;
  setInstrumentation({ isOn: () => currentSegment() !== undefined, refuse: (tool) => refuse(unguarded(tool)) });
  installed = true;
}

/**
 * Whether a predicate is the user's: what the SDK puts in place of none, and of a constant, takes no arguments. Asking those
 * takes no step.
 */
const isUsers = (predicate: unknown): boolean => typeof predicate === 'function' && predicate.length > 0;

/** What a model is told does not matter where its answer is recorded. */
const unneeded = (scope: SegmentContext, what: string) => (source: CallSource) => source.untold(scope.turns + 1, what);

async function enabledTools(scope: SegmentContext, agent: Agent, context: RunContext<unknown>): Promise<Tool[]> {
  const enabled: Tool[] = [];
  for (const tool of agent.tools) {
    if (tool.type !== 'function') {
      enabled.push(tool);
      continue;
    }
    const { isEnabled } = tool;
    const ask = () => isEnabled(context, agent);
    const says = isUsers(isEnabled)
      ? await callbackStep(scope, `enabled:${tool.name}`, ask, (source) =>
          source.offered(scope.turns + 1, nameOf(tool)),
        )
      : await calledIn(scope, `isEnabled of ${tool.name}`, ask)();
    if (says === true) enabled.push(tool);
  }
  return enabled;
}

async function enabledHandoffs(
  scope: SegmentContext,
  agent: Agent,
  runContext: RunContext<unknown>,
): Promise<Handoff[]> {
  const enabled: Handoff[] = [];
  for (const given of agent.handoffs) {
    const handoff: Handoff = getHandoff(given);
    const ask = () => handoff.isEnabled({ runContext, agent });
    const says = isUsers(handoff.isEnabled)
      ? await callbackStep(scope, `enabled:${handoff.toolName}`, ask, (source) =>
          source.has(scope.turns + 1) ? true : undefined,
        )
      : await calledIn(scope, `isEnabled of ${handoff.toolName}`, ask)();
    if (says === true) enabled.push(durableHandoff(scope, handoff));
  }
  return enabled;
}

/** A handoff whose callback (`onHandoff`) is one step. */
function durableHandoff(scope: SegmentContext, handoff: Handoff): Handoff {
  const onInvokeHandoff: Handoff['onInvokeHandoff'] = async (context, args) => {
    const to = await callbackStep(
      scope,
      `handoff:${handoff.toolName}`,
      async () => {
        const agent: Agent = await handoff.onInvokeHandoff(context, args);
        return agent.name;
      },
      (source) => (source.handsOver(scope.turns + 1) ? handoff.agent.name : undefined),
    );
    if (to === handoff.agent.name) return handoff.agent;
    throw new HoldfastError(
      'agent_invalid',
      `The handoff ${handoff.toolName} gave the agent ${String(to)}; it was declared for ${handoff.agent.name}.`,
    );
  };
  return handoff.clone({ onInvokeHandoff });
}

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

/** Lifecycle hooks work in a place of their own: they are called within the loop, and no one waits for them. */
function instrumentHooks(agent: Agent): void {
  const { emit } = agent;
  const value = (...event: unknown[]): unknown => {
    const scope = currentSegment();
    if (typeof scope === 'object' && !scope.source.hears('hook')) return true;
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
  recorded: (source: CallSource) => JsonValue | undefined,
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

/** Puts an accessor in place of a property of an agent: `read` says what is seen of its value. What is set later is the value. */
export function overrideProperty<
  K extends 'tools' | 'mcpServers' | 'model' | 'inputGuardrails' | 'outputGuardrails' | 'toolUseBehavior',
>(agent: Agent, key: K, read: (value: Agent[K]) => Agent[K]): void {
  let value: Agent[K] = agent[key];
  Object.defineProperty(agent, key, {
    configurable: true,
    enumerable: true,
    get: () => read(value),
    set: (given: Agent[K]) => {
      value = given;
    },
  });
}
