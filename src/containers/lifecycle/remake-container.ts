import { type EnvironmentIdentity, environmentName } from '../../core/containers/environment.js';
import { type EngineConnection, isRefusal } from '../docker/engine-connection.js';
import type { Shared } from '../egress/egress.js';
import { createContainer } from './make-container.js';
import { removeContainer } from './remove-container.js';

const nextOf = (identity: EnvironmentIdentity): string => `${environmentName(identity)}-next`;

/**
 * Puts a container in the place of one that its engine cannot start any more, on the same volumes. The new one is there before the
 * old one goes, so that the one that dies in between leaves one of the two: `takePlace` finds it.
 */
export async function remakeContainer(
  engine: EngineConnection,
  identity: EnvironmentIdentity,
  old: string,
  egress: Shared | null,
  signal: AbortSignal,
): Promise<void> {
  await createContainer(engine, identity, egress, signal, nextOf(identity));
  await removeContainer(engine, old, signal);
  await takePlace(engine, identity, signal);
}

/** Gives what was made in place of another one its name. False: there is none. */
export async function takePlace(
  engine: EngineConnection,
  identity: EnvironmentIdentity,
  signal: AbortSignal,
): Promise<boolean> {
  const next = nextOf(identity);
  try {
    await engine.ask('naming a container', signal, (docker) =>
      docker.getContainer(next).rename({ name: environmentName(identity) }),
    );
    return true;
  } catch (error) {
    if (isRefusal(error, 404)) return false;
    // Someone else was faster, and this one came too late.
    if (!isRefusal(error, 409)) throw error;
    await removeContainer(engine, next, signal);
    return true;
  }
}
