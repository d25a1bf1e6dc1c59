import { chmodSync, type Dirent, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { NodeFS } from '@electric-sql/pglite/nodefs';
import { HoldfastError } from '../../../core/errors/errors.js';
import { isRecord } from '../../../core/json.js';

/** What a mode may give to others than the owner: nothing. */
export const OTHERS = 0o077;

const KIND = 0o170_000;
const DIRECTORY = 0o040_000;

const closedMode = (mode: number): number => mode & ~OTHERS;

type Call = (...args: unknown[]) => unknown;

/** Puts a function of ours around one of PGlite's files. */
function around(owner: unknown, name: string, make: (theirs: Call) => Call): void {
  const theirs = isRecord(owner) ? owner[name] : undefined;
  if (!isRecord(owner) || typeof theirs !== 'function')
    throw new HoldfastError('library_changed', `The files of PGlite do not have ${name} any more.`);
  owner[name] = make((...args) => Reflect.apply(theirs, owner, args));
}

/** The files of PGlite, which it makes for everybody (mode 666): here each file and directory is for this user alone. */
export class PrivateNodeFS extends NodeFS {
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

/**
 * Takes from others what they may do with a directory of ours and all that is in it. Links are not followed. What goes meanwhile is
 * left out. Throws what `chmodSync` throws where a part belongs to another user.
 */
export function closeTree(path: string): void {
  closePath(path);
  for (const one of readdirSync(path, { withFileTypes: true })) closeEntry(path, one);
}

function closeEntry(parent: string, one: Dirent): void {
  const path = join(parent, one.name);
  if (one.isDirectory()) closeTree(path);
  else if (one.isFile()) closePath(path);
}

/** The same for one file or directory. Nothing happens where it is gone, or closed already. */
export function closePath(path: string): void {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode;
  if (mode !== undefined && (mode & OTHERS) !== 0) chmodSync(path, closedMode(mode & 0o7777));
}

/**
 * Makes a directory, and those above it that are missing, for this user alone. Throws what `mkdirSync` throws. Its own way of
 * making several tries forever where a directory that is there takes none, as /proc.
 */
export function makeDirectory(path: string): void {
  const missing: string[] = [];
  for (let at = resolve(path); !existsSync(at); at = dirname(at)) missing.unshift(at);
  for (const one of missing) {
    try {
      mkdirSync(one, { mode: 0o700 });
    } catch (error) {
      // Another process was faster.
      if (statSync(one, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
    }
  }
}
