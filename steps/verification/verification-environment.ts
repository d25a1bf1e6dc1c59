import type { FoundEntry, JudgedPlace } from '../../src/core/containers/environment.js';
import { isEnvironmentTrouble } from '../../src/core/errors/environment-errors.js';
import { type ErrorView, HoldfastError } from '../../src/core/errors/errors.js';
import { EffectUnknown } from '../../src/core/runs/call.js';
import type { RunTask } from '../../src/core/tasks/resolve-task.js';
import type { CommandOptions, EndedCommand, ToolEnvironment } from '../../src/core/tools/tool-environment.js';
import { type Halt, haltOf } from '../calls/call-model.js';
import {
  assertHere,
  type Beginning,
  type EnvironmentContext,
  type EnvironmentOwner,
  keptOf,
  type Opened,
  openEnvironment,
} from '../containers/open-environment.js';
import { commandsIn } from '../containers/run-environment.js';
import type { StepContext } from '../context.js';
import { isTransient } from '../database-retry.js';

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

/** Judges see no secrets: what is judged is code of an agent. */
const NO_SECRETS = async (): Promise<ReadonlyMap<string, string>> => new Map();

/** What programs read from their home directory is not the agent's, whose home is the workspace. In memory. */
const HOME = '/tmp';

/** As a tool has it. Its commands are the user's of the tests. */
export interface JudgedEnvironment extends ToolEnvironment {
  /** Runs a command after its files are there; null: it was not run, since something stands in their place. */
  readonly judge: (
    argv: readonly string[],
    options: CommandOptions,
    place: JudgedPlace,
  ) => Promise<EndedCommand | null>;
  /** Everything of the workspace. Throws `file_unreadable`. */
  readonly entries: (within: AbortSignal) => AsyncIterable<FoundEntry>;
  /** Reads a file that the user of the tests has written. Throws `file_unreadable`. */
  readonly readOwn: ToolEnvironment['read'];
}

const NO_FILES: JudgedPlace = { remove: [], make: [], files: [] };

/**
 * Where a run is judged: a container of its own, which begins with the files of the run's container as they are when it is first asked for;
 * that container is stopped for it. However often it is asked for it is the same one, and it goes with its run. A run that never used its
 * container is judged in an empty one. `callKey` is as for a call: under it, the n-th command is run once.
 */
export function environmentForVerification(
  ctx: EnvironmentContext,
  owner: EnvironmentOwner,
  callKey: string,
  signal: AbortSignal,
): JudgedEnvironment {
  const begin = async (engine: string): Promise<Beginning> => {
    const run = await keptOf(ctx, owner, 'run');
    const of = run?.identity.spec ?? owner.spec;
    const spec = { ...of, env: { HOME, ...of.env }, secrets: [] };
    if (run === null || !run.begun) return { spec, source: null };
    assertHere(run, engine);
    return { spec, source: run.identity };
  };
  const judged = { ...owner, secrets: NO_SECRETS };
  const open = (): Promise<Opened> => openEnvironment(ctx, judged, 'verification', begin, signal);
  const { open: opened, ask } = commandsIn(open, { callKey, onUnknown: 'ask' });
  const judge: JudgedEnvironment['judge'] = async (argv, options, place) => {
    const found = await ask(argv, options, ({ environment }, command) => environment.judge(command, place, signal));
    return 'type' in found ? null : found;
  };
  return {
    workdir: owner.spec.workdir,
    judge,
    run: async (argv, options = {}) => {
      const found = await judge(argv, options, NO_FILES);
      if (found === null) throw new Error('nothing can stand in the place of no files');
      return found;
    },
    read: async (path, maxBytes) => (await opened()).environment.read(path, maxBytes, signal),
    entries: async function* (within) {
      yield* (await opened()).environment.entries(AbortSignal.any([signal, within]));
    },
    readOwn: async (path, maxBytes) => (await opened()).environment.readOwn(path, maxBytes, signal),
    write: async (path, bytes) => (await opened()).environment.write(path, bytes, signal),
  };
}
