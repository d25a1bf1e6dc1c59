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
