import { isEnvironmentTrouble } from '../../src/core/errors/environment-errors.js';
import { type ErrorView, HoldfastError } from '../../src/core/errors/errors.js';
import { EffectUnknown } from '../../src/core/runs/call.js';
import type { RunTask } from '../../src/core/tasks/resolve-task.js';
import { type Halt, haltOf } from '../calls/call-model.js';
import type { StepContext } from '../context.js';
import { isTransient } from '../database-retry.js';
import { environmentForVerification, type JudgedEnvironment } from './verification-environment.js';

/** A command whose container ended under it is begun again so often: more often than engines and workers die during one verification. */
const TRIES = 5;

/** A run that is verified. */
interface VerifiedRun {
  readonly id: string;
  readonly tenant: string;
  readonly task: RunTask;
}

/** `failed`: by something that is neither the agent's nor a test's. */
type Judged<T> =
  | { readonly type: 'found'; readonly found: T }
  | { readonly type: 'failed'; readonly error: ErrorView }
  /** By what the agent left. */
  | { readonly type: 'broken'; readonly why: string }
  | Halt;

/**
 * Does a part of the verification in the copy of the container, as one step of the name. Executed again after a crash, its commands give
 * what came of them the first time. Never throws but for the database.
 */
export async function inVerificationContainer<T>(
  ctx: StepContext,
  run: VerifiedRun,
  name: string,
  signal: AbortSignal,
  work: (environment: JudgedEnvironment) => Promise<T>,
): Promise<Judged<T>> {
  const owner = { runId: run.id, tenant: run.tenant, ...run.task.environment };
  for (let attempt = 1; ; attempt++) {
    const key = `${run.id}:${name}${attempt === 1 ? '' : `#${attempt}`}`;
    try {
      return { type: 'found', found: await work(environmentForVerification(ctx, owner, key, signal)) };
    } catch (error) {
      if (signal.aborted) return haltOf(signal);
      if (isTransient(error)) throw error;
      if (isInterrupted(error)) {
        if (attempt < TRIES) continue;
        return { type: 'broken', why: `what was tried ended its container ${TRIES} times` };
      }
      if (isBroken(error)) return { type: 'broken', why: error.message };
      return { type: 'failed', error: failureOf(name, error).view() };
    }
  }
}

/** What a container has in memory is gone when it is started again. */
const isInterrupted = (error: unknown): boolean =>
  error instanceof EffectUnknown || (error instanceof HoldfastError && error.code === 'file_unwritable');

const isBroken = (error: unknown): error is HoldfastError =>
  error instanceof HoldfastError && error.code === 'agent_broke_environment';

function failureOf(name: string, error: unknown): HoldfastError {
  if (error instanceof HoldfastError && (isEnvironmentTrouble(error.code) || error.code === 'reward_unknown'))
    return error;
  const why = error instanceof Error ? error.message : String(error);
  return new HoldfastError('verification_failed', `${name}: ${why}`.slice(0, 4096).toWellFormed());
}
