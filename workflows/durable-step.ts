import { DBOS, DBOSWorkflowConflictError } from '@dbos-inc/dbos-sdk';
import { ModelBehaviorError, UserError } from '@openai/agents';
import { HoldfastError, isErrorCode } from '../src/core/errors/errors.js';
import { type JsonValue, toJson } from '../src/core/json.js';
import type { ContextNote } from '../src/core/runs/run-context.js';
import { catchingLate } from '../steps/calls/late-throws.js';
import { purely } from '../steps/calls/pure-callbacks.js';
import { assertLeased, LostExecutionError } from '../steps/context.js';
import { isTransient } from '../steps/database-retry.js';
import type { CallSource } from './call-source.js';
import { inStep, type SegmentContext, SegmentStop } from './segment-context.js';

/**
 * Runs work as one step of the segment. What the work itself may fail with is part of its result: a step that throws means
 * that the database or DBOS failed, which is never the run's own and must not end it. A run with which workers died has the
 * process to itself until one more of its steps is recorded. A closed recording takes no steps: what it lets be executed is not kept.
 * `ahead`: executing it again does no harm. It begins while the steps before it are recorded, and what follows goes on while it is.
 */
export async function durableStep<T>(
  scope: SegmentContext,
  name: string,
  work: () => Promise<T>,
  { ahead }: { readonly ahead: boolean } = { ahead: false },
): Promise<T> {
  const mode = scope.source.stepMode(name);
  if (mode === 'beyond') {
    scope.broken ??= { error: scope.source.beyond(name) };
    throw scope.broken.error;
  }
  let exitGate: (() => void) | null = null;
  try {
    const step = async (): Promise<T> => {
      exitGate = await scope.gate.enter(scope.run.id, scope.suspected, scope.signal);
      return inStep(() =>
        abandonOnDatabaseOutage(async () => {
          // The process may have been suspended, and taken over, since its last statement.
          await assertLeased(scope.ctx, scope.run.id);
          if (!ahead) await durable(scope);
          const begun = performance.now();
          const result = await work();
          scope.took.set(name, Math.round(performance.now() - begun));
          if (ahead && !scope.suspected) scope.goesAhead.add(name);
          return result;
        }),
      );
    };
    if (mode === 'in_place') return await inStep(work);
    const result = await DBOS.runStep(step, { name });
    if (exitGate !== null) scope.suspected = false;
    return result;
  } catch (error) {
    scope.broken ??= { error };
    throw error;
  } finally {
    (exitGate as (() => void) | null)?.();
  }
}

/** Resolves when every step that this execution has taken is recorded: before whatever lasts. */
export async function durable({ steps }: SegmentContext): Promise<void> {
  if (steps?.isBehind) await steps.durable();
}

type Answer =
  | ({ readonly type: 'answered'; readonly value: JsonValue } & Note)
  | ({ readonly type: 'threw'; readonly name: string; readonly message: string; readonly code?: string } & Note);

/** What the callback made of the context of the run; absent: nothing. */
interface Note {
  readonly context?: ContextNote;
}

/**
 * Runs a callback of the user as one step, so that a replay hears the same answer. What it answers is kept as JSON; what it
 * throws is thrown again, by class where the SDK looks at the class, else as a plain error with its message.
 * `known` reads from the source what was answered; undefined: it does not say, and the callback is called.
 */
export async function callbackStep(
  scope: SegmentContext,
  name: string,
  callback: () => unknown,
  known: (source: CallSource) => JsonValue | undefined,
): Promise<JsonValue> {
  const said = known(scope.source);
  if (said !== undefined) return said;
  const code = { what: `the callback ${name}`, runId: scope.run.id, tool: null, callId: null };
  const called = calledIn(scope, code.what, () => catchingLate(code, callback));
  const answer = async (): Promise<Answer> => {
    try {
      const value = toJson(await called());
      return { type: 'answered', value, ...noteOf(scope) };
    } catch (error) {
      const { name: kind, message } = error instanceof Error ? error : new Error(String(error));
      const code = error instanceof HoldfastError ? { code: error.code } : {};
      return { type: 'threw', name: kind, message: message.slice(0, 4096).toWellFormed(), ...code, ...noteOf(scope) };
    }
  };
  const isInPlace = scope.source.stepMode(name, true) === 'in_place';
  const heard = isInPlace ? await inStep(answer) : await durableStep(scope, name, answer);
  scope.context.apply(heard.context);
  if (heard.type === 'threw') throw endedBy(scope, errorOf(heard));
  return heard.value;
}

/** Returns a callback as the agent of the run declares it. */
export const calledIn = <T>(
  { run }: SegmentContext,
  what: string,
  callback: () => T,
): (() => T | Promise<Awaited<T>>) =>
  run.pureCallbacks ? () => purely(`${what} of the agent ${run.agent}`, callback) : callback;

/** The run ends by what a pure callback did, whatever the SDK makes of an error there. */
function endedBy(scope: SegmentContext, error: Error): Error {
  if (!(error instanceof HoldfastError) || error.code !== 'callback_not_pure') return error;
  scope.stop = { type: 'failed', error: error.view() };
  return new SegmentStop(scope.stop);
}

function noteOf(scope: SegmentContext): Note {
  const context = scope.context.take();
  return context === null ? {} : { context };
}

function errorOf({ name, message, code }: Extract<Answer, { type: 'threw' }>): Error {
  if (code !== undefined && isErrorCode(code)) return new HoldfastError(code, message);
  if (name === 'ModelBehaviorError') return new ModelBehaviorError(message);
  if (name === 'UserError') return new UserError(message);
  return Object.assign(new Error(message), { name });
}

/**
 * Does something, and gives this execution of the segment up when the database is away for too long, or when another process has taken
 * it over: by this error DBOS records nothing, neither of the step nor of the workflow, so that the segment is executed again.
 */
export async function abandonOnDatabaseOutage<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isGivenUp = isTransient(error) || error instanceof LostExecutionError;
    throw isGivenUp ? new DBOSWorkflowConflictError(DBOS.workflowID ?? '') : error;
  }
}
