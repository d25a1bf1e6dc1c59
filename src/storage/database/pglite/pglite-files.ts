import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { NodeFS } from '@electric-sql/pglite/nodefs';
import { HoldfastError } from '../../../core/errors/errors.js';
import { isRecord } from '../../../core/json.js';
import { closedMode, makeDirectory } from '../data-dir/private-files.js';

const KIND = 0o170_000;
const DIRECTORY = 0o040_000;

type Call = (...args: unknown[]) => unknown;

/** Puts a function of ours around one of PGlite's files. */
function around(owner: unknown, name: string, make: (theirs: Call) => Call): void {
  const theirs = isRecord(owner) ? owner[name] : undefined;
  if (!isRecord(owner) || typeof theirs !== 'function')
    throw new HoldfastError('library_changed', `The files of PGlite do not have ${name} any more.`);
  owner[name] = make((...args) => Reflect.apply(theirs, owner, args));
}

/** The files of PGlite, which it makes for everybody (mode 666): here each file and directory is for this user alone. */
class PrivateNodeFS extends NodeFS {
  override async init(...[pg, options]: Parameters<NodeFS['init']>): ReturnType<NodeFS['init']> {
    const { emscriptenOpts } = await super.init(pg, options);
    const preRun = [
      (module: unknown): void => {
        const files = isRecord(module) ? module['NODEFS'] : undefined;
        const ops = isRecord(files) ? files : {};
        around(ops['node_ops'], 'mknod', (theirs) => (parent, name, mode, dev) => {
          if (typeof mode !== 'number') return theirs(parent, name, mode, dev);
          const isDirectory = (mode & KIND) === DIRECTORY;
          return theirs(parent, name, (mode & KIND) | (isDirectory ? 0o700 : 0o600), dev);
        });
        const closed =
          (theirs: Call): Call =>
          (of, attributes) =>
            isRecord(attributes) && typeof attributes['mode'] === 'number'
              ? theirs(of, { ...attributes, mode: closedMode(attributes['mode']) })
              : theirs(of, attributes);
        around(ops['node_ops'], 'setattr', closed);
        around(ops['stream_ops'], 'setattr', closed);
      },
      ...(emscriptenOpts.preRun ?? []),
    ];
    return { emscriptenOpts: { ...emscriptenOpts, preRun } };
  }
}

/** What the system says of files that may be whole. */
const REFUSALS: ReadonlySet<string> = new Set([
  ...['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE'],
]);
/** The numbers that Emscripten has for them, and throws in an object without a message. */
const NUMBERED: ReadonlyMap<unknown, string> = new Map([
  ...([
    [2, 'EACCES'],
    [63, 'EPERM'],
    [69, 'EROFS'],
    [51, 'ENOSPC'],
  ] as const),
  ...([
    [19, 'EDQUOT'],
    [33, 'EMFILE'],
    [41, 'ENFILE'],
  ] as const),
]);
/** The words of PostgreSQL for them. */
const WORDED: readonly (readonly [RegExp, string])[] = [
  [/: Permission denied/, 'EACCES'],
  [/: Operation not permitted/, 'EPERM'],
  [/: Read-only file system/, 'EROFS'],
  [/: No space left on device/, 'ENOSPC'],
  [/: (?:Disk )?[Qq]uota exceeded/, 'EDQUOT'],
  [/: (?:Too many open files|No file descriptors available)/, 'EMFILE'],
];

const SHARED_BUFFERS = '16MB';

/**
 * Opens `dataDir/pg`, or makes it. A first start that was killed leaves a mark beside half a database, which no one has
 * used yet: the next start makes it again. Throws `database_corrupt`, and `config_invalid` where the system lets no one in; files that were there stay as they are.
 */
export async function openFiles(dataDir: string): Promise<PGlite> {
  const path = join(dataDir, 'pg');
  const mark = join(dataDir, 'pg-is-being-made');
  const said: string[] = [];
  try {
    if (existsSync(mark)) rmSync(path, { recursive: true, force: true });
    const isNew = !existsSync(path) || readdirSync(path).length === 0;
    // PGlite would make a new database over the old one.
    if (!isNew && !existsSync(join(path, 'PG_VERSION'))) throw new Error('PG_VERSION is missing');
    if (isNew) writeFileSync(mark, '', { mode: 0o600 });
    // PGlite would make it for everybody.
    makeDirectory(path);
    const db = await PGlite.create({
      fs: new PrivateNodeFS(path),
      startParams: [...PGlite.defaultStartParams, '-c', `shared_buffers=${SHARED_BUFFERS}`],
      onStderr: (line) => said.push(line) === 0,
    });
    if (isNew) rmSync(mark);
    return db;
  } catch (cause) {
    const refusal = refusalIn(said, cause);
    if (refusal !== null) {
      throw new HoldfastError('config_invalid', `The embedded database in ${path} cannot be used: ${refusal}.`, {
        cause,
        hint: 'Let this user read and write it and let the disk have room, or set HOLDFAST_DATA_DIR to another directory.',
      });
    }
    throw new HoldfastError(
      'database_corrupt',
      `The embedded database in ${path} cannot be opened: ${reason(said, cause)}`,
      {
        cause,
      },
    );
  }
}

/** What the system refused; null where the files themselves may be broken. */
function refusalIn(said: readonly string[], cause: unknown): string | null {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : NUMBERED.get(numberOf(cause));
  if (code !== undefined && REFUSALS.has(code)) return code;
  const lines = said.filter((line) => /(?:PANIC|FATAL): /.test(line));
  return WORDED.find(([words]) => lines.some((line) => words.test(line)))?.[1] ?? null;
}

const numberOf = (cause: unknown): unknown =>
  typeof cause === 'object' && cause !== null ? Reflect.get(cause, 'errno') : undefined;

/** PostgreSQL says why in its log; what PGlite throws is only that it stopped. */
function reason(said: readonly string[], cause: unknown): string {
  const lines = said.flatMap((line) => /(?:PANIC|FATAL|DETAIL): +(.*)$/.exec(line)?.[1] ?? []);
  if (lines.length > 0) return lines.join(' ');
  if (cause instanceof Error && cause.message !== '') return cause.message;
  const number = numberOf(cause);
  return number === undefined ? String(cause) : `its files gave error ${String(number)} of Emscripten`;
}
