import { DBOS, DBOSWorkflowConflictError } from '@dbos-inc/dbos-sdk';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { elsewhereText } from '../../src/core/interruptions/standing.js';
import { type CallWait, memoDigest, waitText } from '../../src/core/interruptions/wait.js';
import { digestOf } from '../../src/core/json.js';
import type { CallOutcome } from '../../src/core/log/call-outcome.js';
import type { EventData } from '../../src/core/log/event.js';
import type { Wait } from '../../src/core/runs/ending.js';
import type { ContextChange } from '../../src/core/runs/run-context.js';
import { requestersOf } from '../../src/storage/log/read-events.js';
import { type CallIntent, outcomeOf, rowOf } from '../../src/storage/runs/calls.js';
import { isDeclared } from '../../src/tools/define/define-tool.js';
import { subAgentOf } from '../../src/tools/define/sub-agent.js';
import { callTool, executionKey, SIBLING_FAILED, type ToolCall, type ToolResult } from '../../steps/calls/call-tool.js';
import { durable, durableStep } from '../durable-step.js';
import { isShaped, shaped } from '../model-turn/run-scaffold.js';
import { placeInLog } from '../place-in-log.js';
import type { AgentToolResult } from '../segment-context.js';
import {
  type AuthorizedCall,
  inStep,
  type SegmentContext,
  type StartedCall,
  stopFromHalt,
} from '../segment-context.js';
import { addOutcome } from '../step-ends.js';
import { isAgentTool, runAgentTool } from './agent-tool.js';
import { termsOf } from './approvals.js';
import { noteLogged, type StepResult, withLong, withoutLong } from './kept-outcome.js';
import { bodyOf, endOfRun, givenTo, isRaised, logChild, requirementOf } from './tool-body.js';
import { afterOutputGuardrails } from './tool-guardrails.js';

/** What the SDK gets in place of a result that is not there yet; resuming puts the result in its place. */
export const PLACEHOLDER = '[waiting]';

/**
 * Starts the calls of a response that may start, in the model's order and in one go, so that a replay gives every call the
 * same step. Each call is exactly one step; an agent as a tool takes its steps when all other calls have ended.
 */
export function startCalls(scope: SegmentContext): void {
  const batch = scope.batch;
  if (batch.length === 0) return;
  scope.batch = [];
  const ended: Promise<unknown>[] = [];
  let turn: Promise<unknown> = Promise.resolve().then(() => Promise.all(ended));
  for (const authorized of batch) {
    if (authorized.refusal === null && isAgentTool(authorized.wrapped.original)) {
      turn = startCall(scope, authorized, () => turn.then(() => runAgentTool(scope, authorized)));
    } else {
      ended.push(startCall(scope, authorized, (startedKey) => runTool(scope, authorized, startedKey)));
    }
  }
  // The one that waits for a call hears of its failure.
  turn.catch(() => undefined);
  scope.ended = turn;
}

type Result = ToolResult | AgentToolResult;

function startCall(
  scope: SegmentContext,
  authorized: AuthorizedCall,
  run: (startedKey: string) => Promise<Result>,
): Promise<Result> {
  const { spec } = authorized.wrapped;
  const refusal = refusalOf(authorized);
  const startedKey =
    refusal === null
      ? scope.log.add(
          'call.started',
          { callId: authorized.callId, tool: spec.name, effect: spec.effect },
          authorized.checkedEventKey,
        )
      : authorized.checkedEventKey;
  const ended = refusal === null ? run(startedKey) : Promise.resolve(refusal);
  const started: StartedCall = { authorized, startedKey, result: null };
  scope.results.set(authorized.callId, ended);
  scope.started.push(started);
  const logged = ended.then(
    (result) => {
      started.result = result;
      if (endOfRun(scope, authorized, result) !== null) scope.siblings.abort(SIBLING_FAILED);
      logEnded(scope);
    },
    () => undefined,
  );
  // A result that cannot be logged ends its run: the process and other runs go on.
  logged.catch((error: unknown) => {
    scope.siblings.abort(SIBLING_FAILED);
    scope.stop = { type: 'failed', error: logFailure(error).view() };
  });
  return ended;
}

function logFailure(error: unknown): HoldfastError {
  if (error instanceof HoldfastError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new HoldfastError('run_failed', message.slice(0, 4096).toWellFormed());
}

const refusalOf = (authorized: AuthorizedCall): ToolResult | null =>
  authorized.refusal === null ? null : { type: 'settled', outcome: { type: 'refused', ...authorized.refusal } };

async function runTool(scope: SegmentContext, authorized: AuthorizedCall, startedKey: string): Promise<ToolResult> {
  const { spec } = authorized.wrapped;
  const { callId, agent, input } = authorized;
  const inside = { require: requirementOf(scope, authorized), ...foundBy(scope, startedKey) };
  const asked = { callId, agent, spec, input, ...inside };
  const recorded = scope.source.result(callId);
  if (recorded !== null) {
    applyContext(scope, recorded);
    if (!isShaped(scope, authorized)) scope.source.answered(asked, recorded);
    return recorded;
  }
  const executing = scope.source.executes(asked);
  // Nothing is waited for before a step, so that the calls of a response take theirs in one go.
  const executed = executing === null ? null : await executing;
  if (executed !== null)
    return inStep(async () => shaped(scope, authorized, await afterOutputGuardrails(scope, authorized, executed)));
  const intent = {
    ...{
      runId: scope.run.id,
      callId: authorized.callId,
      tenant: scope.run.tenant,
      tool: spec.name,
      toolVersion: spec.version,
    },
    ...{
      effect: spec.effect,
      digest: authorized.digest,
      execution: executionKey(scope.execution, authorized.repeatApprovedBy),
    },
    ...{ worker: scope.ctx.worker.id, epoch: scope.ctx.worker.epoch },
  };
  const step = stepName(authorized);
  const call = {
    ...{
      intent,
      spec,
      agent: authorized.agent,
      input: authorized.input,
      known: authorized.known,
      repeatApprovedBy: authorized.repeatApprovedBy,
      allowedElsewhere: authorized.allowedElsewhere,
      waitDecision: authorized.waitDecision,
      earlier: scope.earlier,
      keepWithStep: scope.ctx.stepsKeepOutcomes() ? keeper(scope, step) : null,
      durable: () => durable(scope),
    },
    ...{
      body: bodyOf(scope, authorized),
      ...inside,
      environment: scope.run.environment,
    },
  };
  // What this process has executed is not read again.
  const here: { result: ToolResult | null } = { result: null };
  const execute = async (): Promise<StepResult> => {
    const result = await callTool(scope.ctx, call, scope.callSignal, () => scope.log.flush());
    // By this error DBOS records nothing, neither of the step nor of the workflow: both are the newer process's to end.
    if (result.type === 'superseded') throw new DBOSWorkflowConflictError(DBOS.workflowID ?? scope.run.id);
    const end = withGiven(result, shaped(scope, authorized, await afterOutputGuardrails(scope, authorized, result)));
    const context = scope.context.take();
    const { workspace } = result;
    here.result = { ...end, ...(workspace && { workspace }), ...(context !== null && { context }) };
    return withoutLong(result, here.result);
  };
  const kept = await durableStep(scope, step, execute, { ahead: leavesNothing(scope, authorized) });
  const ended = here.result ?? (await withLong(scope, callId, kept));
  applyContext(scope, ended);
  return ended;
}

/** Whether the body of a call changes nothing outside, so that no one can tell whether it was executed. */
const leavesNothing = (
  { run, earlier }: SegmentContext,
  { callId, wrapped: { spec, original } }: AuthorizedCall,
): boolean =>
  spec.effect === 'pure' &&
  earlier.willBeNew(callId) &&
  isDeclared(original) &&
  subAgentOf(original) === undefined &&
  (original.outputGuardrails ?? []).length === 0 &&
  run.scaffold === null &&
  run.environment === null &&
  (run.memory === null || run.memory.size === 0);

const stepName = ({ callId, wrapped: { spec } }: AuthorizedCall): string =>
  `${spec.step ?? `tool:${spec.name}`}:${callId}`;

/** What a call finds of its run: the state as it is now, and its own place in the log. */
const foundBy = (scope: SegmentContext, startedKey: string): Pick<ToolCall, 'state' | 'memory' | 'position'> => ({
  state:
    scope.own.present === null || scope.own.problemOf === null
      ? null
      : { seen: scope.own.present, problemOf: scope.own.problemOf },
  memory: foundMemory(scope),
  position: () => placeInLog(scope, startedKey),
});

/** The memory of the run; null: its agent has none. */
function foundMemory({ ctx, run, memory: { read, labels } }: SegmentContext): ToolCall['memory'] {
  const { id, agent, sessionId, memory: spaces } = run;
  const requesters = () => requestersOf(ctx.knex, id);
  return spaces === null ? null : { spaces, agent, sessionId, requesters, read, labels };
}

/** Makes what a call changed of the state of the run. What does not fit beside another call ends the run. */
function applyState(scope: SegmentContext, result: Result, tool: string): void {
  if (result.type !== 'settled' || result.outcome.type !== 'output' || result.outcome.state === undefined) return;
  const problem = scope.own.apply(result.outcome.state);
  if (problem === null) return;
  const text = `What ${tool} made of the state does not fit beside what another call made of it: ${problem}`;
  scope.stop = { type: 'failed', error: new HoldfastError('state_invalid', text).view() };
}

/** What a call read of memory, and what it brought in, is the provenance of its later writes. */
function applyMemory({ memory }: SegmentContext, result: Result, { refusal, wrapped }: AuthorizedCall): void {
  if (result.type !== 'settled' && result.type !== 'tripped') return;
  const { label } = wrapped.spec;
  if (result.outcome.type === 'refused') {
    // A body that was denied something had begun, and what it was denied may be another's word, such as a redirect.
    if (refusal === null && result.outcome.why === 'denied' && label !== undefined) memory.add({ labels: [label] });
    return;
  }
  if (label !== undefined) memory.add({ labels: [label] });
  if (result.outcome.memory !== undefined) memory.add(result.outcome.memory);
}

/** What a call made of the context is there for what comes after it. A context that cannot be kept ends the run. */
function applyContext(scope: SegmentContext, { context }: ToolResult): void {
  try {
    scope.context.apply(context);
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    scope.stop ??= { type: 'failed', error: error.view() };
  }
}

/** The row of a call has what its tool gave: where a guardrail or scaffold replaced that, the log has its digest. */
function withGiven(result: ToolResult, end: ToolResult): ToolResult {
  if (result.type !== 'settled' || (end.type !== 'settled' && end.type !== 'tripped')) return end;
  if (result.outcome === end.outcome) return end;
  const given = digestOf(result.outcome);
  const kept = withMemoryOf(result.outcome, end);
  return given === digestOf(kept.outcome) ? kept : { ...kept, given };
}

/** What a call read and wrote of memory, and the labels of it, stand whatever is put in place of what it gave. */
const withMemoryOf = <E extends Extract<ToolResult, { outcome: CallOutcome }>>(was: CallOutcome, end: E): E =>
  was.type === 'refused' || was.memory === undefined || end.outcome.type === 'refused'
    ? end
    : { ...end, outcome: { ...end.outcome, memory: was.memory } };

/** Leaves the outcome of a call for the caller that keeps its step, and gives it as it will be read again. */
const keeper =
  (scope: SegmentContext, step: string) =>
  (intent: CallIntent, outcome: CallOutcome): CallOutcome => {
    const row = rowOf(intent, outcome);
    scope.outcomes.set(step, { ...row, isNew: scope.earlier.isNew(intent.callId) });
    return outcomeOf(row);
  };

/** Logs how calls ended, in the model's order: one that ended early waits for those before it. */
function logEnded(scope: SegmentContext): void {
  while (scope.started[0]?.result) {
    const { authorized, startedKey, result } = scope.started.shift() as StartedCall & { result: Result };
    const { callId } = authorized;
    const tool = authorized.wrapped.spec.name;
    if (result.type === 'settled' || result.type === 'tripped') {
      const data = { callId, tool, outcome: result.outcome };
      const ended = { step: stepName(authorized), from: startedKey };
      const key = addOutcome(scope, { ...data, ...besideOutcome(result) }, ended);
      noteLogged(scope, callId, key, result.outcome);
    }
    applyState(scope, result, tool);
    applyMemory(scope, result, authorized);
    const error = endOfRun(scope, authorized, result);
    if (error !== null) scope.stop = { type: 'failed', error };
    if (result.type === 'unknown') {
      const parentKey = scope.log.add('call.unknown', { callId, tool, text: result.text }, startedKey);
      const { agent, arguments: args, digest } = authorized;
      scope.waits.push({
        ...{ callId, tool, agent, arguments: args, digest, reason: 'unknown_effect', text: result.text, parentKey },
        ...{
          expiresInMs: authorized.wrapped.spec.approvalExpiresInMs,
          inside: null,
          approval: termsOf(scope, authorized),
        },
      });
      scope.stop ??= { type: 'wait' };
    }
    if (result.type === 'waits') {
      scope.waits.push(waitOf(authorized, result.wait, logChild(scope, authorized, result.wait, startedKey)));
      scope.stop ??= { type: 'wait' };
    }
    if (result.type === 'suspended') suspend(scope, authorized, startedKey, result.state);
    if (result.type === 'halted') {
      logHalted(scope, authorized, startedKey, result.begun);
      // The call that failed says how the run ends.
      if (result.why !== SIBLING_FAILED) scope.stop = stopFromHalt(result.why);
    }
  }
}

/** What the log says of a call beside its outcome. */
const besideOutcome = (
  result: Extract<Result, { type: 'settled' | 'tripped' }>,
): Partial<EventData<'call.finished'>> => ({
  ...(result.type === 'settled' && 'note' in result && result.note ? { step: result.note } : {}),
  ...('workspace' in result && result.workspace ? { workspace: result.workspace } : {}),
  ...('given' in result && result.given !== undefined ? { given: result.given } : {}),
  ...contextIn(result),
});

/** The context that a call has left, as the log has it. */
const contextIn = (result: Result): { readonly context?: ContextChange } =>
  'context' in result && result.context !== undefined && 'value' in result.context ? { context: result.context } : {};

function waitOf(authorized: AuthorizedCall, wait: CallWait, parentKey: string): Wait {
  const { callId, agent, arguments: args, digest, wrapped } = authorized;
  const { spec, ordinal, dueAt, expiresInMs } = wait;
  const tool = wrapped.spec.name;
  const before =
    authorized.allowedElsewhere === null ? '' : ` ${elsewhereText('answered', authorized.allowedElsewhere)}`;
  const text = `${waitText(tool, spec)}${before}`;
  return {
    ...{ callId, tool, agent, arguments: args, digest, reason: spec.kind, text, parentKey },
    // Only people forget: what is not a question waits for as long as it takes.
    expiresInMs: spec.kind === 'question' ? expiresInMs : (expiresInMs ?? null),
    inside: { ordinal, spec, dueAt, memo: memoDigest(wait.memo) },
  };
}

/** An agent behind a tool goes on in the next segment, if there is one. */
function suspend(scope: SegmentContext, authorized: AuthorizedCall, startedKey: string, state: string | null): void {
  const { callId, agent, arguments: args } = authorized;
  const { name: tool } = authorized.wrapped.spec;
  if (scope.stop?.type === 'wait' || scope.stop?.type === 'cut')
    scope.suspended.push({ callId, tool, agent, arguments: args, state });
  else logHalted(scope, authorized, startedKey, false);
}

/** A call that was stopped with its run: an unsafe one that was at work may have had its effect. */
function logHalted(scope: SegmentContext, authorized: AuthorizedCall, startedKey: string, begun: boolean): void {
  const { callId } = authorized;
  const { name: tool, effect } = authorized.wrapped.spec;
  if (begun && effect === 'unsafe') {
    const text = `${tool} was stopped while it worked: this may have happened.`;
    scope.log.add('call.unknown', { callId, tool, text }, startedKey);
  } else {
    const outcome = { type: 'refused', why: 'cancelled', message: `${tool} was stopped with its run.` } as const;
    scope.log.add('call.finished', { callId, tool, outcome }, startedKey);
  }
}

/** The guarded body of a tool: starts the calls of its response if that is still to do, and waits for its own. */
export async function awaitResult(scope: SegmentContext, callId: string | undefined): Promise<unknown> {
  const authorized = scope.authorizedCalls.get(callId ?? '');
  if (authorized === undefined)
    throw new HoldfastError('tool_unguarded', `The call ${callId ?? '?'} was never judged.`);
  startCalls(scope);
  const result = await scope.results.get(authorized.callId);
  if (result === undefined)
    throw new HoldfastError('tool_unguarded', `The call ${authorized.callId} waits for an approval and was invoked.`);
  // It ends the loop of an agent behind a tool, when the calls beside it have ended, too.
  if (isRaised(result) && scope.parentCall !== null) {
    await scope.ended;
    throw new Error(result.outcome.message);
  }
  if (result.type !== 'settled') return PLACEHOLDER;
  return givenTo(scope, result.outcome);
}
