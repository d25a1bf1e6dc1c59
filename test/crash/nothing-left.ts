import Docker from 'dockerode';

/** Resolves when nothing of the containers of a run is left on an engine. */
export async function nothingLeft(host: string, runId: string): Promise<void> {
  const docker = new Docker({ socketPath: host.slice('unix://'.length) });
  const filters = { label: [`holdfast.run=${runId}`] };
  for (;;) {
    const containers = await docker.listContainers({ all: true, filters });
    const { Volumes } = await docker.listVolumes({ filters });
    if (containers.length === 0 && (Volumes ?? []).length === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
