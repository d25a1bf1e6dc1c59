import { randomUUID } from 'node:crypto';
import { LABELS } from './container-options.js';
import { isVolumeMade, reportedId } from './engine-answers.js';
import { type EngineConnection, EngineRefusal, isRefusal } from './engine-connection.js';

/** The volume whose label is the identity of an engine. It is empty, and no container mounts it. */
export const IDENTITY_VOLUME = 'holdfast-engine';
const LABEL = 'holdfast.engine';

/**
 * Returns what tells an engine from others, forever: an id that is made at the first use and kept in a volume, because cloned machines
 * report the same id. An engine that has objects of a build before this one keeps the id that it reports.
 */
export async function engineIdentity(engine: EngineConnection, signal: AbortSignal): Promise<string> {
  const kept = await keptIdentity(engine, signal);
  if (kept !== null) return kept;
  const id = (await isInUse(engine, signal)) ? await reportedId(engine, signal) : randomUUID();
  // Of two that make it at once the engine keeps the first, with its label.
  await engine
    .ask('making the volume of its identity', signal, (docker) =>
      docker.createVolume({ Name: IDENTITY_VOLUME, Labels: { [LABEL]: id } }),
    )
    .catch((error: unknown) => {
      if (!isVolumeMade(error)) throw error;
    });
  const made = await keptIdentity(engine, signal);
  if (made === null) throw new EngineRefusal(404, `its volume ${IDENTITY_VOLUME} was removed when it was made`);
  return made;
}

async function keptIdentity(engine: EngineConnection, signal: AbortSignal): Promise<string | null> {
  const what = 'asking for its identity';
  let found: { readonly Name?: string; readonly Labels?: Readonly<Record<string, string>> | null } | undefined;
  try {
    found = await engine.ask(what, signal, (docker) => docker.getVolume(IDENTITY_VOLUME).inspect());
  } catch (error) {
    if (isRefusal(error, 404)) return null;
    // An engine has a volume or not. Something in front of it says anything else.
    throw error instanceof EngineRefusal ? engine.away(what, error) : error;
  }
  if (found?.Name !== IDENTITY_VOLUME) throw engine.away(what, new Error('what answers there is no container engine'));
  // A volume of this name without the label is of someone else.
  return found.Labels?.[LABEL] ?? (await reportedId(engine, signal));
}

async function isInUse(engine: EngineConnection, signal: AbortSignal): Promise<boolean> {
  const filters = { label: [`${LABELS.managed}=1`] };
  const { Volumes } = await engine.ask('looking for volumes', signal, (docker) => docker.listVolumes({ filters }));
  if ((Volumes ?? []).length > 0) return true;
  const containers = await engine.ask('looking for containers', signal, (docker) =>
    docker.listContainers({ all: true, filters }),
  );
  return containers.length > 0;
}
