import type { WorkspaceChanges } from '../../src/core/containers/workspace-changes.js';
import type { ToolEnvironment } from '../../src/core/tools/tool-environment.js';
import { type EnvironmentContext, type EnvironmentOwner, type Opened, openEnvironment } from './open-environment.js';
import { commandsIn, environmentOfCall, toolEnvironment } from './run-environment.js';
import { readScan, scanCommand } from './scan-workspace.js';

/** The environment of a run as one call of it has it, and what that call changed of its files. */
export interface WatchedEnvironment {
  readonly environment: ToolEnvironment;
  /** Null: no one asked for changes, the call used no environment, or its files could not be looked at. */
  readonly changes: () => Promise<WorkspaceChanges | null>;
}

/** An environment whose files no one looks at. */
export const unwatched = (environment: ToolEnvironment): WatchedEnvironment => ({
  environment,
  changes: () => Promise.resolve(null),
});

/**
 * Gives a call its environment. Where the environment asks for file changes, its first use leaves a list of the files, and
 * `changes` compares with the list of the call before. Executed again, after a crash, each look gives what it gave the first time.
 */
export function watchedEnvironment(
  ctx: EnvironmentContext,
  owner: EnvironmentOwner,
  callKey: string,
  signal: AbortSignal,
): WatchedEnvironment {
  const { workdir, fileChanges } = owner.spec;
  if (fileChanges === undefined) return unwatched(environmentOfCall(ctx, owner, callKey, signal));
  const onUnknown = owner.onUnknown ?? 'ask';
  let opening: Promise<Opened> | null = null;
  let begun: Promise<Opened> | null = null;
  let cwd = workdir;
  const open = (): Promise<Opened> => {
    opening ??= openEnvironment(ctx, owner, 'run', async () => ({ spec: owner.spec, source: null }), signal);
    return opening;
  };
  const look = async (how: 'begin' | 'compare') => {
    const { argv, options } = scanCommand(workdir, fileChanges.most, how);
    const { ask } = commandsIn(open, { callKey: `${callKey}:files:${how}`, onUnknown });
    return ask(argv, options, ({ environment }, command) => environment.run(command, signal));
  };
  const begin = async (): Promise<Opened> => {
    const opened = await open();
    if (!opened.kept.begun) await look('begin');
    return opened;
  };
  const use = (): Promise<Opened> => {
    begun ??= begin();
    return begun;
  };
  const environment = toolEnvironment(use, { callKey, workdir, signal, onUnknown });
  return {
    environment: {
      ...environment,
      run: (argv, options = {}) => {
        cwd = options.cwd ?? workdir;
        return environment.run(argv, options);
      },
    },
    changes: async () => {
      if (begun === null) return null;
      try {
        await begun;
        const { exitCode, stdout } = await look('compare');
        const seen = exitCode === 0 ? readScan(stdout.text) : null;
        return seen === null ? null : { cwd, ...seen };
      } catch {
        // A container that is gone ends the run at its next use, by name.
        return null;
      }
    },
  };
}
