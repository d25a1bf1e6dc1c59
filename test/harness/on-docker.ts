import Docker from 'dockerode';

export const dockerOf = (host: string): Docker => new Docker({ socketPath: host.slice('unix://'.length) });

export const labelled = (runId: string) => ({ all: true, filters: { label: [`holdfast.run=${runId}`] } });

/** The containers of a run, also those that do not run. */
export const containersOn = (host: string, runId: string): Promise<Docker.ContainerInfo[]> =>
  dockerOf(host).listContainers(labelled(runId));

export const volumesOn = async (host: string, runId: string): Promise<readonly Docker.VolumeInspectInfo[]> =>
  (await dockerOf(host).listVolumes(labelled(runId))).Volumes ?? [];

/** How many containers and volumes an engine has of a run. */
export const leftOn = async (host: string, runId: string): Promise<number> =>
  [...(await containersOn(host, runId)), ...(await volumesOn(host, runId))].length;

/** What an engine has of a run: names of containers and volumes, and images. */
export async function namesLeftOn(host: string, { runId }: { readonly runId: string }): Promise<readonly string[]> {
  const images = await dockerOf(host).listImages(labelled(runId));
  return [
    ...(await containersOn(host, runId)).flatMap(({ Names }) => Names),
    ...(await volumesOn(host, runId)).map(({ Name }) => Name),
    ...images.map(({ Id }) => Id),
  ];
}

/** Removes what an engine has of runs. What someone else removes meanwhile is gone, too. */
export async function removeLeft(host: string, runIds: readonly string[]): Promise<void> {
  const docker = dockerOf(host);
  const gone = (error: { readonly statusCode?: number }): void => {
    if (error.statusCode !== 404 && error.statusCode !== 409) throw error;
  };
  for (const runId of runIds) {
    for (const { Id } of await containersOn(host, runId))
      await docker.getContainer(Id).remove({ force: true }).catch(gone);
    for (const { Name } of await volumesOn(host, runId))
      await docker.getVolume(Name).remove({ force: true }).catch(gone);
  }
}
