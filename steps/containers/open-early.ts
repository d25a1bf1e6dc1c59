import { setTimeout as sleep } from 'node:timers/promises';
import { type EnvironmentContext, type EnvironmentOwner, openEnvironment } from './open-environment.js';

/** For so long the end of a segment waits for a container that is being opened. */
const WAITED_MS = 10_000;

/**
 * Opens the container of a run beside its first model call, so that the first command finds it at work. What fails here is met again
 * by that command. Returns a function that waits until nothing opens it any more: a pause stops what is there.
 */
export function openEarly(
  ctx: EnvironmentContext,
  owner: EnvironmentOwner,
  signal: AbortSignal,
): { readonly settle: () => Promise<void> } {
  const given = new AbortController();
  const within = AbortSignal.any([signal, given.signal]);
  const begin = async () => ({ spec: owner.spec, source: null });
  const opening = openEnvironment(ctx, owner, 'run', begin, within).then(
    () => undefined,
    () => undefined,
  );
  return {
    settle: async () => {
      const over = new AbortController();
      const late = sleep(WAITED_MS, undefined, { signal: over.signal }).then(
        () => given.abort(),
        () => undefined,
      );
      await opening;
      over.abort();
      await late;
    },
  };
}
