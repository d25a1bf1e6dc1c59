import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { type EnvironmentIdentity, environmentName } from '../../core/containers/environment.js';
import { labelsOf, volumesOf } from '../docker/container-options.js';
import { type EngineConnection, EngineRefusal, isRefusal } from '../docker/engine-connection.js';
import { testerGroupOf } from '../exec/judge-users.js';
import { removeContainer } from './stop-container.js';

/** Each process that opens an environment at the same time has one of its own, so that none takes away that of another. */
export const newOwnerName = (identity: EnvironmentIdentity): string =>
  `${environmentName(identity)}-own-${randomBytes(4).toString('hex')}`;

const WORK = '/work';
const RECORDS = '/records';

/**
 * Gives a new workspace to the user of a container, and lets everybody make a directory among the records and no one list those of
 * others. The engine does it: an empty volume takes over the owner and the mode of the directory that it is mounted on. The image that has
 * those directories has nothing else, and no container of it is ever started. A workspace whose directory the image of the environment has is
 * as it is there, where that is not empty. An engine that does not do this leaves the volumes as they are, and `verifyContainer` finds it.
 */
export async function ownVolumes(
  engine: EngineConnection,
  identity: EnvironmentIdentity,
  signal: AbortSignal,
): Promise<void> {
  const { spec, source } = identity;
  const [, uid, ownGid = '0'] = /^(\d{1,6})(?::(\d{1,6}))?$/.exec(spec.user) ?? [];
  const isJudged = identity.purpose === 'verification';
  const gid = isJudged ? String(testerGroupOf(spec)) : ownGid;
  // Larger numbers do not fit into an archive.
  if (uid === undefined) return;
  const name = newOwnerName(identity);
  const volumes = volumesOf(environmentName(identity));
  const mount = (Source: string, Target: string) => ({ Type: 'volume' as const, Source, Target });
  const directories = [
    { path: WORK, uid: Number(uid), gid: Number(gid), mode: isJudged ? 0o775 : 0o755 },
    { path: RECORDS, uid: 0, gid: 0, mode: 0o1733 },
  ];
  const Image = `holdfast/owner:${uid}-${gid}${isJudged ? '-shared' : ''}`;
  const create = () =>
    engine.ask('making a container', signal, (docker) =>
      docker.createContainer({
        ...{ name, Image, Cmd: ['/'], User: '0:0', Labels: labelsOf(identity) },
        HostConfig: {
          NetworkMode: 'none',
          // A copy has the owner of its source.
          Mounts: [mount(volumes.records, RECORDS), ...(source === null ? [mount(volumes.work, WORK)] : [])],
        },
      }),
    );
  try {
    await create().catch(async (error: unknown) => {
      if (!isRefusal(error, 404)) throw error;
      await emptyImage(engine, Image, directories, signal);
      await create();
    });
  } catch (error) {
    if (!(error instanceof EngineRefusal)) throw error;
  } finally {
    await removeContainer(engine, name, signal);
  }
}

/** A directory with what can be said of it in an archive. */
export interface Directory {
  /** Absolute, of one name. */
  readonly path: string;
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
}

/** Makes an image that has these directories and nothing else, under a name with a tag. One of that name is replaced. */
async function emptyImage(
  engine: EngineConnection,
  image: string,
  directories: readonly Directory[],
  signal: AbortSignal,
): Promise<void> {
  const archive = Buffer.concat([...directories.map(entryOf), Buffer.alloc(2 * BLOCK)]);
  await engine.ask('making an image', signal, async (docker) => {
    // The tag within the name: Podman does not look at one beside it.
    const said = await docker.importImage(Readable.from([archive]), { repo: image });
    // Made when it has said everything. Whether it is there shows when it is used.
    for await (const _ of said);
  });
}

const BLOCK = 512;

/** https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html, "ustar Interchange Format". */
function entryOf({ path, uid, gid, mode }: Directory): Buffer {
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, digits: number): void =>
    void header.write(value.toString(8).padStart(digits, '0'), at);
  header.write(`${path.slice(1)}/`, 0);
  octal(mode, 100, 7);
  octal(uid, 108, 7);
  octal(gid, 116, 7);
  octal(0, 124, 11);
  octal(0, 136, 11);
  header.fill(' ', 148, 156);
  header.write('5', 156);
  header.write('ustar\0' + '00', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}
