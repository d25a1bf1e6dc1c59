import { EffectUnknown } from '../src/core/call.js';
import { isEnvironmentTrouble } from '../src/core/environment-errors.js';
import { type ErrorView, HoldfastError } from '../src/core/errors.js';
import type { Scaffold } from '../src/core/scaffold.js';
import { scaffoldFailed } from '../src/core/scaffold.js';
import { unlessAborted } from '../src/models/abort.js';
import { type Halt, haltOf } from './call-model.js';
import type { EnvironmentOwner } from './open-environment.js';
import { environmentOfCall } from './run-environment.js';
import type { World } from './world.js';

/** As long as the longest call of a tool. */
const LONGEST_MS = 3_600_000;

export type PreparedEnvironment =
  | { readonly type: 'prepared' }
  | { readonly type: 'failed'; readonly error: ErrorView }
  | Halt;

/**
 * Prepares the container of a run before its first turn. Executed again, after a crash, its commands give what came of them the first
 * time, and its files are written again: nobody has worked with them yet. Never throws for what the scaffold does.
 */
export async function prepareEnvironment(
  world: World,
  owner: EnvironmentOwner,
  { name, initialize }: Pick<Scaffold, 'name' | 'initialize'>,
  signal: AbortSignal,
): Promise<PreparedEnvironment> {
  const late = AbortSignal.timeout(LONGEST_MS);
  const within = AbortSignal.any([signal, late]);
  try {
    const environment = environmentOfCall(world, owner, `${owner.runId}:environment:prepare`, within);
    await unlessAborted(Promise.resolve(initialize?.(environment)), within);
    return { type: 'prepared' };
  } catch (error) {
    if (signal.aborted) return haltOf(signal);
    return { type: 'failed', error: failureOf(name, late.aborted ? 'did not end within an hour' : error).view() };
  }
}

function failureOf(name: string, error: unknown): HoldfastError {
  if (error instanceof HoldfastError && isEnvironmentTrouble(error.code)) return error;
  if (error instanceof EffectUnknown)
    return scaffoldFailed(name, 'initialize', 'was at work when its container ended; start the run anew');
  if (typeof error === 'string') return scaffoldFailed(name, 'initialize', error);
  return scaffoldFailed(name, 'initialize', `threw: ${error instanceof Error ? error.message : String(error)}`);
}
