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
