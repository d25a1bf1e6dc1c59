import Docker from 'dockerode';

export const dockerOf = (host: string): Docker => new Docker({ socketPath: host.slice('unix://'.length) });

export const labelled = (runId: string) => ({ all: true, filters: { label: [`holdfast.run=${runId}`] } });

/** How many containers and volumes an engine has of a run. */
export async function leftOn(host: string, runId: string): Promise<number> {
  const { Volumes } = await dockerOf(host).listVolumes(labelled(runId));
  return [...(await dockerOf(host).listContainers(labelled(runId))), ...(Volumes ?? [])].length;
}
