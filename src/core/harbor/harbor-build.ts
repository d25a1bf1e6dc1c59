import { digestOf, sha256 } from '../json.js';
import { bytesOf, type TaskFile } from '../tasks/task-file.js';
import { type Place, ROOT_DIR, toHere } from './harbor-places.js';

/** What an engine builds the image of a task from. */
export interface HarborBuild {
  /** Its name, which has the digest of all that is built: an engine that has an image of this name has built it. */
  readonly image: string;
  /** By their paths in the context; the Dockerfile is one of them. */
  readonly files: ReadonlyMap<string, { readonly content: Buffer; readonly executable: boolean }>;
  readonly timeoutSeconds: number;
}

/**
 * Moves each path below the workspace and leaves a link in its place, then gives the workspace to the agent's user. /tmp is a file
 * system in memory when the container runs, so its content is copied.
 */
const FIT = [
  'set -e; cd /; work=$1; user=$2; shift 2; mkdir -p "$work"',
  'for path do',
  `target="$work/${ROOT_DIR}$path"`,
  `mkdir -p "$(dirname "$target")" "$(dirname "$path")"`,
  'if [ "$path" = /tmp ]; then mkdir -p "$target"; cp -a /tmp/. "$target/"; continue; fi',
  'if [ -L "$path" ]; then continue; fi',
  'if [ -e "$path" ]; then mv "$path" "$target"; else mkdir -p "$target"; fi',
  'ln -s "$target" "$path"',
  'done',
  'chown -Rh "$user" "$work"',
].join('\n');

/** Also where the image has no such directory. */
const COPY = 'mkdir -p "$1" "$2" && cp -a "$1/." "$2/"';

export interface BuildRequest {
  readonly dockerfile: string;
  /** The context by its paths. */
  readonly context: ReadonlyMap<string, TaskFile>;
  /** Paths in the context whose texts name places. */
  readonly copied: ReadonlySet<string>;
  readonly places: readonly Place[];
  readonly workdir: string;
  readonly moved: readonly string[];
  /** Another directory, with whose content the workspace begins; null: it is the workspace. */
  readonly begin: string | null;
  readonly user: string;
  readonly timeoutSeconds: number;
}

const run = (...argv: readonly string[]): string => `RUN ${JSON.stringify(argv)}`;

/** The context of a task with a Dockerfile that ends by fitting the image to Holdfast's containers. */
export function harborBuild(request: BuildRequest): HarborBuild {
  const { dockerfile, context, copied, places, workdir, moved, begin, user, timeoutSeconds } = request;
  const text = [
    dockerfile.trimEnd().replace(/\\$/, ''),
    'USER 0',
    ...(begin === null ? [] : [run('/bin/sh', '-c', COPY, 'copy', begin, workdir)]),
    run('/bin/sh', '-c', FIT, 'fit', workdir, user, ...moved),
    `WORKDIR ${workdir}`,
    '',
  ].join('\n');
  const files = new Map(
    [...context].map(([path, file]) => {
      const here = copied.has(path) && 'text' in file ? { ...file, text: toHere(file.text, places) } : file;
      return [path, { content: bytesOf(here), executable: /[1357]/.test(file.mode) }] as const;
    }),
  );
  files.set('Dockerfile', { content: Buffer.from(text), executable: false });
  const listed = [...files].map(([path, { content, executable }]) => [
    path,
    executable,
    sha256(content.toString('base64')),
  ]);
  const digest = digestOf(listed.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)));
  return { image: `holdfast/harbor:${digest.replace(/^sha256:/, '').slice(0, 32)}`, files, timeoutSeconds };
}
