import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { FoundEntry, FoundFile } from '../../core/containers/environment.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { type EngineConnection, StreamCut } from '../docker/engine-connection.js';
import { READ, WRITE } from '../exec/command-script.js';
import { type ExecResult, runAttached } from '../exec/exec.js';
import { inRunning } from '../lifecycle/ready-container.js';
import { tarEntries } from './tar-entries.js';

const WITHIN_MS = 60_000;
const LONGEST_PATH = 4096;

export interface FilePlace {
  readonly engine: EngineConnection;
  readonly container: () => string;
  /** Who reads and writes, and owns what is written. */
  readonly user: string;
  readonly signal: AbortSignal;
  readonly reopen: () => Promise<unknown>;
}

/** Reads a file as the user may; `own`: one that is the user's own, and no link. Throws `file_unreadable`. */
export async function readFile(
  place: FilePlace,
  path: string,
  maxBytes: number,
  whose: 'any' | 'own' = 'any',
): Promise<FoundFile> {
  const unreadable = (why: string) => new HoldfastError('file_unreadable', `${path} cannot be read: ${why}.`);
  assertPath(path, unreadable);
  const most = maxBytes + 1;
  const result = await inside(place, {
    argv: [READ, 'sh', path, String(most), whose === 'own' ? 'own' : ''],
    maxBytes: most + LONGEST_PATH + 1,
  });
  if (result.exitCode !== 0) throw unreadable(saidBy(result));
  const end = result.stdout.indexOf(0);
  const bytes = result.stdout.subarray(end + 1);
  if (bytes.length > maxBytes) throw unreadable(`it is larger than ${maxBytes} bytes`);
  return { path: result.stdout.subarray(0, Math.max(0, end)).toString('utf8'), bytes };
}

/**
 * Everything below a directory, by paths relative to it, as the engine packs it: also what no user of the container may read. The
 * engine leaves out in silence what lies deeper than any path. Throws `file_unreadable`.
 */
export async function* entriesBelow(
  { engine, container, signal, reopen }: Omit<FilePlace, 'user'>,
  dir: string,
): AsyncGenerator<FoundEntry> {
  const ask = () =>
    engine.ask('reading the workspace', signal, (docker) =>
      docker.getContainer(container()).getArchive({ path: `${dir}/.` }),
    );
  try {
    const stream = await inRunning(signal, ask, reopen);
    let isEmpty = true;
    const pieces = async function* () {
      for await (const piece of Readable.from(stream, { signal })) {
        isEmpty = false;
        yield piece;
      }
    };
    for await (const entry of tarEntries(pieces())) {
      const { path, sameAs } = entry;
      yield { ...entry, path: below(path), sameAs: sameAs === null ? null : below(sameAs) };
    }
    if (isEmpty) throw new Error('its archive is empty');
  } catch (error) {
    if (signal.aborted || error instanceof HoldfastError) throw error;
    const why = error instanceof Error ? error.message.trim().toWellFormed() : String(error);
    throw new HoldfastError('file_unreadable', `${dir} cannot be read: ${why}.`, { cause: error });
  }
}

/** A path as it is below the directory. Docker begins each with it, and has it as the first entry; Podman does neither. */
const below = (path: string): string => path.replace(/^\.\/+/, '').replace(/^\.$/, '');

/** Writes a file beside its place and renames it. Throws `file_unwritable`. */
export async function writeFile(place: FilePlace, path: string, bytes: Buffer): Promise<void> {
  const unwritable = (why: string) => new HoldfastError('file_unwritable', `${path} cannot be written: ${why}.`);
  assertPath(path, unwritable);
  // The same content has the same draft: the one that writes it twice at once writes it right.
  const draft = createHash('sha256').update(path).update(bytes).digest('hex').slice(0, 24);
  const result = await inside(place, { argv: [WRITE, 'sh', path, draft], maxBytes: LONGEST_PATH, input: bytes });
  if (result.exitCode !== 0) throw unwritable(saidBy(result));
}

function assertPath(path: string, refuse: (why: string) => HoldfastError): void {
  if (path.startsWith('/') && path.length <= LONGEST_PATH && !/[\0\n]/.test(path)) return;
  throw refuse('it is no absolute path of one line');
}

function inside(
  { engine, container, user, signal, reopen }: FilePlace,
  { argv, maxBytes, input }: { readonly argv: readonly string[]; readonly maxBytes: number; readonly input?: Buffer },
): Promise<ExecResult> {
  const run = async (): Promise<ExecResult> => {
    const request = { container: container(), user, argv: ['sh', '-c', ...argv], maxBytes, timeoutMs: WITHIN_MS };
    const result = await runAttached(engine, input === undefined ? request : { ...request, input }, signal);
    if (result.exitCode === null && !result.timedOut) throw new StreamCut();
    return result;
  };
  return inRunning(signal, run, reopen);
}

function saidBy(result: ExecResult): string {
  if (result.timedOut) return 'it takes too long';
  const said = result.stderr.toString('utf8').trim().toWellFormed();
  return said === '' ? `the program for it ended with ${result.exitCode ?? 'nothing'}` : said;
}
