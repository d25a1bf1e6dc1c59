import { posix } from 'node:path';
import { type Scaffold, scaffoldFailed } from '../../src/core/agents/scaffold.js';
import { isEnvironmentTrouble } from '../../src/core/errors/environment-errors.js';
import { type ErrorView, HoldfastError } from '../../src/core/errors/errors.js';
import { EffectUnknown } from '../../src/core/runs/call.js';
import { bytesOf, type TaskFiles } from '../../src/core/tasks/task-file.js';
import type { ToolEnvironment } from '../../src/core/tools/tool-environment.js';
import { unlessAborted } from '../../src/models/providers/abort.js';
import { type Halt, haltOf } from '../calls/call-model.js';
import type { StepContext } from '../context.js';
import type { EnvironmentOwner } from './open-environment.js';
import { watchedEnvironment } from './watched-environment.js';

/** As long as the longest call of a tool. */
const LONGEST_MS = 3_600_000;

export type PreparedEnvironment =
  | { readonly type: 'prepared' }
  | { readonly type: 'failed'; readonly error: ErrorView }
  | Halt;

/**
 * Prepares the container of a run before its first turn: the files of its task, then what its scaffold does. Executed again, after a crash, its commands give what came of them the first
 * time, and its files are written again: no one has worked with them yet. Never throws for what the scaffold does.
 */
export async function prepareEnvironment(
  ctx: StepContext,
  owner: EnvironmentOwner,
  { files, scaffold }: { readonly files: TaskFiles; readonly scaffold: Pick<Scaffold, 'name' | 'initialize'> | null },
  signal: AbortSignal,
): Promise<PreparedEnvironment> {
  const late = AbortSignal.timeout(LONGEST_MS);
  const within = AbortSignal.any([signal, late]);
  try {
    const { environment, changes } = watchedEnvironment(ctx, owner, `${owner.runId}:environment:prepare`, within);
    await putFiles(environment, environment.workdir, files);
    await unlessAborted(Promise.resolve(scaffold?.initialize?.(environment)), within);
    // What the first call changes is what is different from now on.
    await changes();
    return { type: 'prepared' };
  } catch (error) {
    if (signal.aborted) return haltOf(signal);
    return {
      type: 'failed',
      error: failureOf(scaffold?.name ?? null, late.aborted ? 'did not end within an hour' : error).view(),
    };
  }
}

function failureOf(name: string | null, error: unknown): HoldfastError {
  if (error instanceof HoldfastError && (name === null || isEnvironmentTrouble(error.code))) return error;
  if (name === null)
    return new HoldfastError('environment_failed', `The files of the task could not be written: ${error}.`);
  if (error instanceof EffectUnknown)
    return scaffoldFailed(name, 'initialize', 'was at work when its container ended; start the run again');
  if (typeof error === 'string') return scaffoldFailed(name, 'initialize', error);
  return scaffoldFailed(name, 'initialize', `threw: ${error instanceof Error ? error.message : String(error)}`);
}

const MODE = '644';

/** Writes files below a directory, with their modes; what is there is replaced. */
export async function putFiles(environment: ToolEnvironment, directory: string, files: TaskFiles): Promise<void> {
  const directories = directoriesOf(directory, files);
  if (directories.length > 0) await environment.run(['mkdir', '-p', '--', ...directories]);
  await placeFiles(environment, directory, files);
}

/** The directories that files below a directory are in. */
export const directoriesOf = (directory: string, files: TaskFiles): readonly string[] => [
  ...new Set(Object.keys(files).map((path) => posix.dirname(posix.join(directory, path)))),
];

/** The same where their directories are there. */
export async function placeFiles(environment: ToolEnvironment, directory: string, files: TaskFiles): Promise<void> {
  const placed = Object.entries(files).map(([path, file]) => ({ path: posix.join(directory, path), file }));
  for (const { path, file } of placed) await environment.write(path, bytesOf(file));
  const modes = [...new Set(placed.map(({ file }) => file.mode))].filter((mode) => mode !== MODE);
  for (const mode of modes) {
    const paths = placed.filter(({ file }) => file.mode === mode).map(({ path }) => path);
    await environment.run(['chmod', mode, '--', ...paths]);
  }
}
