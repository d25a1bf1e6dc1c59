import { Readable } from 'node:stream';
import type { EngineConnection } from '../docker/engine-connection.js';

/** A directory with what can be said of it in an archive. */
export interface Directory {
  /** Absolute, of one name. */
  readonly path: string;
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
}

/** Makes an image that has these directories and nothing else, under a name with a tag. One of that name is replaced. */
export async function emptyImage(
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
