import { setTimeout as sleep } from 'node:timers/promises';
import { type EnvironmentName, environmentName } from '../../core/containers/environment.js';
import { type EngineConnection, EngineRefusal, isRefusal } from '../docker/engine-connection.js';
import { inspect } from '../docker/inspect.js';

/** So long after its first signal the main process gets its second one. */
const STOP_SECONDS = 2;
const TRIES = 3;
const PAUSE_MS = 20;

/** Stops the container of an environment and keeps its files. One that is not there is stopped. */
export async function stopContainer(engine: EngineConnection, of: EnvironmentName, signal: AbortSignal): Promise<void> {
  const name = environmentName(of);
  for (let tries = 0; tries < TRIES; tries++) {
    const found = await inspect(engine, name, signal);
    if (found === null || !found.State.Running) return;
    try {
      await engine.ask('stopping the container', signal, async (docker) => {
        const container = docker.getContainer(found.Id);
        // A frozen process hears no signal.
        if (found.State.Paused) await container.unpause();
        await container.stop({ t: STOP_SECONDS });
      });
    } catch (error) {
      // It has stopped (304), was thawed by someone else (409, 500) or is gone (404): looking again says which.
      if (!(error instanceof EngineRefusal)) throw error;
    }
  }
}

/** Ends all that works in a container, at once, and waits until it has ended. One that has, or is gone, is fine. */
export async function endContainer(engine: EngineConnection, id: string, signal: AbortSignal): Promise<void> {
  try {
    await engine.ask('ending the container', signal, (docker) => docker.getContainer(id).kill());
  } catch (error) {
    if (!(error instanceof EngineRefusal)) throw error;
    // It has ended (409, 500) or is gone (404), as looking shows; or it was refused, and works on.
    if (!isRefusal(error, 404, 409) && (await inspect(engine, id, signal))?.State.Running) throw error;
  }
  while ((await inspect(engine, id, signal))?.State.Running) await sleep(PAUSE_MS, undefined, { signal });
}

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
