import { type Agent, type ModelProvider, RunContext, Runner, RunState } from '@openai/agents';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { reachableAgents } from '../../src/tools/define/reachable-agents.js';
import { asDurable, durableProvider } from '../model-turn/durable-model.js';
import { chargedProvider } from '../model-turn/model-budgets.js';
import { resumeState } from '../resume/resume-state.js';
import { currentSegment, type SegmentContext, SegmentStop } from '../segment-context.js';
import { waitForApprovals } from '../tool-calls/approvals.js';
import { instrumentAgent, patchAgent } from './patch-agent.js';
import { patchMcp } from './patch-mcp.js';
import { assertMethod } from './sdk-internals.js';
import { refuse, unsupportedAgent } from './unsupported.js';

/** As the SDK bounds a run that says nothing else. */
const MAX_TURNS = 10;

type Run = (agent: Agent, input: unknown, options?: Options) => Promise<{ readonly interruptions?: unknown }>;
interface Options {
  readonly context?: unknown;
  readonly maxTurns?: number | null;
  readonly stream?: boolean;
  readonly session?: unknown;
}

/**
 * Installs every patch through which the SDK reaches agents in a segment. `provider` null: no step will run an agent.
 * Throws `library_changed`.
 */
export function installSdkPatches(provider: ModelProvider | null): void {
  patchAgent();
  patchMcp();
  patchRunner(provider);
}

let models: ModelProvider | null = null;
let installed = false;

/**
 * Patches how the SDK runs an agent. Inside a segment it keeps hold of the state of an agent behind a tool, so
 * that it can be suspended and go on; inside a step, where a judge may run, it lends the models of the engine.
 */
function patchRunner(provider: ModelProvider | null): void {
  if (provider !== null) models = provider;
  if (installed) return;
  const original: unknown = Runner.prototype.run;
  assertMethod('Runner.prototype.run', original);
  const run = original as (this: Runner, ...args: Parameters<Run>) => ReturnType<Run>;
  const runInSegment = async function runInSegment(this: Runner, ...args: Parameters<Run>) {
    const scope = currentSegment();
    if (scope === undefined) return run.apply(this, args);
    const unsupported = reachableAgents(args[0])
      .map(unsupportedAgent)
      .find((problem) => problem !== null);
    if (unsupported !== undefined) return refuse(unsupported);
    if (scope === 'step') {
      lendModels(this);
      return run.apply(this, args);
    }
    return runLoop(scope, this, args, (...given) => run.apply(this, given));
  };
  Runner.prototype.run = runInSegment as typeof Runner.prototype.run;
  installed = true;
}

async function runLoop(scope: SegmentContext, runner: Runner, args: Parameters<Run>, run: Run): ReturnType<Run> {
  const [agent, input, options] = args;
  if (scope.running) {
    return refuse(
      new HoldfastError(
        'agent_invalid',
        `${agent.name} was started by a callback that is not a step; start it in a guardrail or a tool, or give it as a tool.`,
      ),
    );
  }
  scope.running = true;
  instrumentAgent(agent);
  if (scope.parentCall === null) return run(...args);
  if (options?.stream || options?.session !== undefined || runner.config.sandbox !== undefined) {
    return refuse(
      new HoldfastError(
        'agent_invalid',
        `${agent.name} is a tool with onStream, a session or a sandbox, which cannot work inside a run.`,
      ),
    );
  }
  useDurableModels(runner, agent);
  const state =
    input instanceof RunState
      ? await resumeState(scope, agent, scope.parentCall.text ?? input.toString())
      : new RunState(
          contextOf(options),
          input as string,
          agent,
          options?.maxTurns === undefined ? MAX_TURNS : options.maxTurns,
        );
  scope.state = state;
  if (scope.stop !== null) throw new SegmentStop(scope.stop);
  const result = await run(agent, state, options);
  if (waitForApprovals(scope, state)) scope.stop ??= { type: 'wait' };
  return result;
}

/** What an agent behind a tool names as its models (`runConfig` of `asTool()`): their calls are steps like all others. */
function useDurableModels({ config }: Runner, agent: Agent): void {
  const { model, modelProvider } = config;
  const named = typeof model === 'object' ? { model: asDurable(model, agent.name) } : {};
  Object.assign(config, { modelProvider: durableProvider(modelProvider), ...named });
}

const contextOf = (options: Options | undefined): RunContext<unknown> =>
  options?.context instanceof RunContext ? options.context : new RunContext<unknown>(options?.context);

const lent = new WeakSet<ModelProvider>();

/** Gives a runner that names no provider the models of the engine, while it works inside a step. */
function lendModels(runner: Runner): void {
  const own = runner.config.modelProvider;
  if (lent.has(own) || own.constructor !== new Runner().config.modelProvider.constructor) return;
  const lending: ModelProvider = {
    getModel: (name) =>
      (currentSegment() === undefined || models === null ? own : chargedProvider(models)).getModel(name),
  };
  lent.add(lending);
  Object.assign(runner.config, { modelProvider: lending });
}
