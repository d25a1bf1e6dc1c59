import { randomBytes } from 'node:crypto';
import { type EnvironmentIdentity, environmentName } from '../core/environment.js';
import { labelsOf, volumesOf } from './container-options.js';
import { type EngineConnection, EngineRefusal, isRefusal } from './engine-connection.js';

const WORK = 'holdfast-work';
const RECORDS = 'holdfast-records';

/** Whoever opens an environment at the same time has one of his own, so that nobody takes it away under another one. */
export const newOwnerName = (identity: EnvironmentIdentity): string =>
  `${environmentName(identity)}-own-${randomBytes(4).toString('hex')}`;

/**
 * Gives the workspace to the user of a container, and lets everybody make a directory among the records and nobody list those of others.
 * The engine does it, by unpacking an archive of the two directories into a container that has the volumes and is never started: nothing
 * of the image runs, and nothing is granted. Gives its name: it stays, for `removeContainer`. An engine that does not do this leaves the
 * volumes as they are.
 * `work`: `kept` leaves the workspace as it is, `absent` does so where the image has its directory, whose owner a volume takes over.
 */
export async function ownVolumes(
  engine: EngineConnection,
  identity: EnvironmentIdentity,
  work: 'kept' | 'absent' | 'given',
  signal: AbortSignal,
): Promise<string> {
  const { spec } = identity;
  const [, uid, gid = '0'] = /^(\d{1,6})(?::(\d{1,6}))?$/.exec(spec.user) ?? [];
  const name = newOwnerName(identity);
  // Larger numbers do not fit into an archive.
  if (uid === undefined) return name;
  const volumes = volumesOf(environmentName(identity));
  const mount = (Source: string, target: string) => ({ Type: 'volume' as const, Source, Target: `/${target}` });
  const given = directory(WORK, { uid: Number(uid), gid: Number(gid), mode: 0o755 });
  const open = directory(RECORDS, { uid: 0, gid: 0, mode: 0o1733 });
  try {
    await engine.ask('making a container', signal, (docker) =>
      docker.createContainer({
        ...{ name, Image: spec.image, Entrypoint: [], Cmd: ['true'], User: '0:0', Labels: labelsOf(identity) },
        HostConfig: { NetworkMode: 'none', Mounts: [mount(volumes.work, WORK), mount(volumes.records, RECORDS)] },
      }),
    );
    const gives = work === 'given' || (work === 'absent' && (await isAbsent(engine, name, spec.workdir, signal)));
    const archive = Buffer.concat([...(gives ? [given] : []), open, Buffer.alloc(2 * BLOCK)]);
    await engine.ask('giving the workspace to its user', signal, (docker) =>
      docker.getContainer(name).putArchive(archive, { path: '/' }),
    );
  } catch (error) {
    if (!(error instanceof EngineRefusal)) throw error;
  }
  return name;
}

async function isAbsent(engine: EngineConnection, container: string, path: string, signal: AbortSignal) {
  try {
    await engine.ask('looking for the workspace', signal, (docker) =>
      docker.getContainer(container).infoArchive({ path }),
    );
    return false;
  } catch (error) {
    if (isRefusal(error, 404)) return true;
    throw error;
  }
}

const BLOCK = 512;

/** A directory in an archive: https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html, "ustar Interchange Format". */
function directory(
  name: string,
  { uid, gid, mode }: { readonly uid: number; readonly gid: number; readonly mode: number },
): Buffer {
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, digits: number): void =>
    void header.write(value.toString(8).padStart(digits, '0'), at);
  header.write(`${name}/`, 0);
  octal(mode, 100, 7);
  octal(uid, 108, 7);
  octal(gid, 116, 7);
  octal(0, 124, 11);
  octal(Math.floor(Date.now() / 1000), 136, 11);
  header.fill(' ', 148, 156);
  header.write('5', 156);
  header.write('ustar\0' + '00', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}
