import { NodeFS } from '@electric-sql/pglite/nodefs';
import { HoldfastError } from '../../../core/errors/errors.js';
import { isRecord } from '../../../core/json.js';
import { closedMode } from '../data-dir/private-files.js';

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
