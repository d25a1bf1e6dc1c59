import type Docker from 'dockerode';
import { type EngineConnection, isRefusal } from './engine-connection.js';

/** What is known of a container, by its name or id; null: there is none. */
export async function inspect(
  engine: EngineConnection,
  name: string,
  signal: AbortSignal,
): Promise<Docker.ContainerInspectInfo | null> {
  try {
    return await engine.ask('looking for the container', signal, (docker) => docker.getContainer(name).inspect());
  } catch (error) {
    if (isRefusal(error, 404)) return null;
    throw error;
  }
}

/** What an engine knows of an image, by its name or id; null: it does not have it. */
export async function findImage(
  engine: EngineConnection,
  image: string,
  signal: AbortSignal,
): Promise<Docker.ImageInspectInfo | null> {
  try {
    return await engine.ask('looking for an image', signal, (docker) => docker.getImage(image).inspect());
  } catch (error) {
    if (isRefusal(error, 404)) return null;
    throw error;
  }
}

export const hasImage = async (engine: EngineConnection, image: string, signal: AbortSignal): Promise<boolean> =>
  (await findImage(engine, image, signal)) !== null;
