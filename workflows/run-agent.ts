import {
  type Agent,
  GuardrailExecutionError,
  InputGuardrailTripwireTriggered,
  ModelBehaviorError,
  OutputGuardrailTripwireTriggered,
  RunContext,
  Runner,
  RunState,
  ToolCallError,
} from '@openai/agents';
import { itemsOfInput } from '../src/core/agents/session.js';
import { type ErrorCode, HoldfastError } from '../src/core/errors/errors.js';
import { toJson } from '../src/core/json.js';
import type { EventData } from '../src/core/log/event.js';
import { givenIn } from '../src/core/log/recording.js';
import type { Ending } from '../src/core/runs/ending.js';
import { withoutKnownSecrets } from '../src/models/secrets/known-secrets.js';
import { breathe } from '../src/storage/database/timing.js';
import { readEvent } from '../src/storage/log/read-events.js';
import { prepareEnvironment } from '../steps/containers/prepare-environment.js';
import { withDatabaseRetry } from '../steps/database-retry.js';
import { durableStep } from './durable-step.js';
import { restoreOutput } from './model-turn/trim-history.js';
import type { RunnableAgent, Workplace } from './open-segment.js';
import { storedState } from './resume/rebuild-state.js';
import { resumeState } from './resume/resume-state.js';
import { stateText } from './resume/state-text.js';
import { runContextOf } from './sdk/sdk-internals.js';
import { labelsPassedOn, type RunFacts, type SegmentContext, stopFromHalt } from './segment-context.js';
import { waitForApprovals } from './tool-calls/approvals.js';
import { verifyRun } from './verification/verify-run.js';

/**
 * Lets the agent work and verifies the result. `settle`: waits for what was begun beside its work. Throws only for failures that are not the
 * run's own.
 */
export async function runAgent(
  options: Workplace,
  scope: SegmentContext,
  settle: () => Promise<void> = async () => {},
): Promise<Ending> {
  const ending = await letAgentWork(options, scope);
  await settle();
  return verifyRun(scope, ending);
}

/** Lets the agent work until it has finished, must wait, or must stop. */
async function letAgentWork(options: Workplace, scope: SegmentContext): Promise<Ending> {
  try {
    const { agent } = agentOf(options, scope);
    if (scope.run.model !== null) scope.chosen = await options.provider.getModel(scope.run.model);
    const state = await stateOf(options, scope, agent);
    await prepareRun(scope);
    if (scope.stop !== null) return await outcomeOf(scope, state);
    const runner = new Runner({ modelProvider: scope.provider, tracingDisabled: true });
    const result = await runner.run(agent, state, { maxTurns: null });
    if (scope.broken !== null) throw scope.broken.error;
    waitForApprovals(scope, state);
    if (scope.stop !== null || scope.waits.length > 0) return await outcomeOf(scope, state);
    const produced = scope.run.sessionId === null ? null : restoreOutput(state, itemsOfInput(toJson(result.output)));
    const labels = produced === null ? [] : labelsPassedOn(scope);
    return { type: 'completed', output: toJson(result.finalOutput), produced, ...(labels.length > 0 && { labels }) };
  } catch (error) {
    if (scope.broken !== null) throw scope.broken.error;
    return scope.stop !== null && scope.state !== null ? await outcomeOf(scope, scope.state) : outcomeFromError(error);
  }
}

function agentOf(options: Workplace, scope: SegmentContext): RunnableAgent {
  const runnable = options.agents.get(scope.run.agent);
  if (runnable !== undefined) return runnable;
  throw new HoldfastError(
    'agent_unknown',
    `The agent ${scope.run.agent} is not in the configuration of this worker any more.`,
  );
}

async function stateOf(options: Workplace, scope: SegmentContext, agent: Agent): Promise<RunState<unknown, Agent>> {
  await beginGiven(scope);
  if (scope.first === 0) {
    const input = scope.run.input as string | ConstructorParameters<typeof RunState>[1];
    scope.state = new RunState<unknown, Agent>(new RunContext<unknown>(scope.context.value), input, agent, null);
    return scope.state;
  }
  const snapshot = await storedState(scope, agent, (past) => runAgent(options, past));
  return resumeState(scope, agent, snapshot);
}

/** The log has what the run was given: it never changes, so that a replay reads the same. */
async function beginGiven(scope: SegmentContext): Promise<void> {
  const { ctx, run, context, own, memory } = scope;
  if (!run.takesContext && own.problemOf === null && run.proposals === null && run.memory === null) return;
  const given =
    run.given ?? givenIn([(await withDatabaseRetry(() => readEvent(ctx.knex, run.id, 1))) ?? { data: null }]);
  // A fork has the approval of its source, which is not for it.
  if (given.approvedPlan?.runId === run.id) scope.approvedPlan = given.approvedPlan;
  if (run.memory !== null) memory.add({ labels: [...given.labels] });
  if (run.takesContext && given.context !== null) context.begin(given.context);
  if (own.problemOf !== null && given.state !== null) own.begin(given.state);
}

async function outcomeOf(scope: SegmentContext, state: RunState<unknown, Agent>): Promise<Ending> {
  const { stop, waits } = scope;
  if (stop !== null && stop.type !== 'wait' && stop.type !== 'cut') return stop;
  scope.context.apply(scope.source.context ?? scope.context.take());
  runContextOf(state).context = scope.context.kept;
  const { changed } = scope.context;
  const context = changed === null ? {} : { context: changed };
  // A long run has a long text: others have their turn before and after.
  await breathe();
  const referred = scope.refers ? { input: scope.run.input, logged: scope.logged } : null;
  const memory = scope.run.memory && scope.memory.kept;
  const text = stateText(state, scope.suspended, scope.own.present, memory, referred);
  await breathe();
  return stop === null || stop.type === 'wait'
    ? { type: 'paused', waits, state: text, carried: carriedOf(scope), ...context }
    : { type: 'cut', state: text, ...context };
}

/** What was decided and could not be applied, because something waits again: the next segment applies it. */
const carriedOf = (scope: SegmentContext): readonly string[] =>
  scope.settled.map((one) => one.interruptionId).filter((id) => !scope.applied.has(id));

/** Prepares the environment of a run, in one step before its first turn. Where there is nothing to prepare, no container is made. */
async function prepareRun(scope: SegmentContext): Promise<void> {
  const { ctx, run, source, signal } = scope;
  if (scope.first !== 0) return;
  const present = preparationOf(run);
  const said = source.prepared(present);
  if (said) scope.log.add('environment.prepared', said);
  if (said !== undefined || present === null || run.environment === null) return;
  const owner = { runId: run.id, tenant: run.tenant, ...run.environment };
  const what = { files: run.task?.resolved.initialFiles ?? {}, scaffold: run.scaffold?.scaffold ?? null };
  const ended = await durableStep(scope, 'environment:prepare', () => prepareEnvironment(ctx, owner, what, signal));
  if (ended.type === 'prepared') scope.log.add('environment.prepared', present);
  else scope.stop = ended.type === 'failed' ? ended : stopFromHalt(ended.why);
}

/** What there is to prepare; null: nothing. */
function preparationOf({ environment, scaffold, task }: RunFacts): EventData<'environment.prepared'> | null {
  const initializes = scaffold?.scaffold.initialize !== undefined;
  const brings = Object.keys(task?.resolved.initialFiles ?? {}).length > 0;
  if (environment === null || !(initializes || brings)) return null;
  const { image } = environment.spec;
  if (!initializes) return { image, scaffold: null };
  const { name, version } = scaffold.scaffold;
  return { image, scaffold: { name, version } };
}

const codeOf = (error: unknown): ErrorCode => {
  if (error instanceof HoldfastError) return error.code;
  if (error instanceof InputGuardrailTripwireTriggered || error instanceof OutputGuardrailTripwireTriggered)
    return 'guardrail_tripped';
  if (error instanceof GuardrailExecutionError) return 'guardrail_failed';
  if (error instanceof ModelBehaviorError) return 'output_invalid';
  return error instanceof ToolCallError ? 'tool_failed' : 'run_failed';
};

/** Maps an error that the SDK threw out of the agent to the end of the run. */
export function outcomeFromError(error: unknown): Ending {
  const inner = error instanceof ToolCallError && error.error instanceof HoldfastError ? error.error : error;
  const message = withoutKnownSecrets(inner instanceof Error ? inner.message : String(inner));
  return { type: 'failed', error: new HoldfastError(codeOf(inner), message.slice(0, 4096).toWellFormed()).view() };
}
