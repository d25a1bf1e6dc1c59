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

/** Whether an engine has an image, by its name or id. */
export async function hasImage(engine: EngineConnection, image: string, signal: AbortSignal): Promise<boolean> {
  try {
    await engine.ask('looking for an image', signal, (docker) => docker.getImage(image).inspect());
    return true;
  } catch (error) {
    if (isRefusal(error, 404)) return false;
    throw error;
  }
}
