import { type EngineConnection, isRefusal } from '../docker/engine-connection.js';

/** Removes a container, whatever works in it. One that is not there, or on its way out, is fine. */
export async function removeContainer(engine: EngineConnection, container: string, signal: AbortSignal): Promise<void> {
  try {
    await engine.ask('removing a container', signal, (docker) =>
      docker.getContainer(container).remove({ force: true }),
    );
  } catch (error) {
    if (!isRefusal(error, 404, 409)) throw error;
  }
}
