import type { EnvironmentIdentity } from '../../core/containers/environment.js';
import { type ImagePolicy, pulledName } from '../../core/containers/image-policy.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { imageOf } from '../docker/container-options.js';
import { type EngineConnection, isAway } from '../docker/engine-connection.js';
import { hasImage } from '../docker/inspect.js';

const WITHIN_MS = 30 * 60_000;
const TRIES = 3;

/**
 * Pulls the image of a container that is to be made, as the policy says. Where a run is judged the image is that of its container: only
 * a missing one is pulled there. Throws `image_unknown` and `engine_unreachable`.
 */
export async function readyImage(
  engine: EngineConnection,
  identity: EnvironmentIdentity,
  { pull }: ImagePolicy,
  signal: AbortSignal,
): Promise<void> {
  const { image } = identity.spec;
  // The root of another container is on this engine alone.
  if (pull === 'never' || imageOf(identity) !== image) return;
  if ((pull === 'missing' || identity.purpose !== 'run') && (await hasImage(engine, image, signal))) return;
  const within = AbortSignal.any([signal, AbortSignal.timeout(WITHIN_MS)]);
  for (let tries = 1; ; tries++) {
    const why = await pullOnce(engine, pulledName(image), within);
    if (why === null) return;
    signal.throwIfAborted();
    if (tries === TRIES || within.aborted) throw unpulled(image, why);
  }
}

/** Why it could not be pulled; null: it was. A registry says no with a refusal, or within the stream. */
async function pullOnce(engine: EngineConnection, image: string, signal: AbortSignal): Promise<string | null> {
  try {
    const stream = await engine.ask('pulling the image', signal, (docker) =>
      docker.pull(image, { abortSignal: signal }),
    );
    return await new Promise((resolve) => {
      engine.docker.modem.followProgress(stream, (error: Error | null, said: readonly unknown[] | null) =>
        resolve(error?.message ?? failureIn(said ?? [])),
      );
    });
  } catch (error) {
    if (signal.aborted) return `it takes longer than ${WITHIN_MS / 60_000} minutes`;
    if (error instanceof HoldfastError || isAway(error)) throw error;
    return error instanceof Error ? error.message : String(error);
  }
}

/** What the engine says of a pull that failed is in its stream, behind the status of success. */
function failureIn(said: readonly unknown[]): string | null {
  const failures = said.map((one): unknown => Reflect.get(Object(one), 'error'));
  return failures.find((failure): failure is string => typeof failure === 'string') ?? null;
}

const unpulled = (image: string, why: string): HoldfastError =>
  new HoldfastError('image_unknown', `The engine cannot pull the image ${image}: ${why.trim().toWellFormed()}.`, {
    hint: 'Correct the name of the image, log the engine in to its registry, or pull it on the engine yourself.',
  });
