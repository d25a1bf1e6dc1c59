import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { HoldfastError } from '../core/errors/errors.js';
import { isMade, type Made, madeOf } from '../core/exports/dataset-card.js';
import { type HubPlace, hubPlaceTextOf } from '../core/exports/hub-place.js';
import type { CommitLine, Hub, HubFile } from '../object-store/hub.js';
import { fileBody } from '../object-store/signed-request.js';

/** An export in a dataset repository: one commit has all of it, so that it is there as a whole or not at all. */
export interface ExportHub {
  readonly hub: Hub;
  readonly place: HubPlace;
  /** Of the export. */
  readonly id: string;
}

const CARD = 'README.md';
const MANIFEST = 'manifest.json';
/** What the Hub itself puts into a new repository. */
const OF_HUB: ReadonlySet<string> = new Set(['.gitattributes']);
/** Contents in the commit itself: beyond that all files are sent as large ones. */
const IN_COMMIT_BYTES = 8 * 1024 * 1024;
const SAMPLE_BYTES = 512;
/** So often others may commit in between. */
const COMMITS_MAX = 20;

const pathIn = ({ place: { folder } }: ExportHub, path: string): string => (folder === '' ? path : `${folder}/${path}`);

const listed = z.object({
  files: z.array(
    z.object({ path: z.string().regex(/^(data|evidence)\/[\w.-]+$/) }).or(z.object({ path: z.literal(CARD) })),
  ),
});

interface There {
  readonly made: Made;
  /** Of its files, in the folder. */
  readonly paths: readonly string[];
}

async function thereAt(to: ExportHub, commit: string): Promise<There | null> {
  const text = await to.hub.read(to.place.repository, commit, pathIn(to, MANIFEST));
  const made = madeOf(text ?? 'null');
  if (text === null || made === null) return null;
  const files = listed.safeParse(JSON.parse(text)).data?.files ?? [];
  return { made, paths: [...files.map(({ path }) => path), MANIFEST] };
}

/** What is there as a whole; null: nothing that says of itself what it is. */
export async function publishedOnHub(to: ExportHub): Promise<Made | null> {
  const commit = await to.hub.head(to.place.repository);
  return commit === null ? null : ((await thereAt(to, commit))?.made ?? null);
}

/** Makes a private repository where there is none. Throws `export_exists` where there is something in the place that is not of this export. */
export async function prepareOnHub(to: ExportHub): Promise<void> {
  const { repository } = to.place;
  const commit = await to.hub.head(repository);
  if (commit === null) await to.hub.create(repository);
  else await assertOwn(to, commit);
}

/** Gives what this export has there already. Throws `export_exists`. */
async function assertOwn(to: ExportHub, commit: string): Promise<There | null> {
  const { repository, folder } = to.place;
  const there = await thereAt(to, commit);
  if (there?.made.export === to.id) return there;
  const names = await to.hub.names(repository, commit, folder);
  if (names.every((name) => OF_HUB.has(name))) return null;
  throw new HoldfastError('export_exists', `There is something at ${hubPlaceTextOf(to.place)} already.`);
}

/**
 * Sends large files, and makes one commit of all. What the Hub has of them is not sent again. Gives false when `goesOn` did not let it,
 * which is asked before each file and before the commit. Throws `export_exists`, and what the Hub throws.
 */
export async function publishOnHub(
  to: ExportHub,
  { from, paths, revision }: { readonly from: string; readonly paths: readonly string[]; readonly revision: number },
  goesOn: (sent: number) => Promise<boolean>,
): Promise<boolean> {
  const { repository } = to.place;
  const files: HubFile[] = [];
  for (const path of paths) {
    const { sizeBytes, sha256 } = await fileBody(join(from, path));
    files.push({ path: pathIn(to, path), from: join(from, path), sizeBytes, sha256 });
  }
  const large = withLargest(files, await to.hub.largeOnes(repository, files, firstBytes));
  for (const [sent, file] of files.entries()) {
    if (!large.has(file.path)) continue;
    if (!(await goesOn(sent))) return false;
    await to.hub.store(repository, file);
  }
  const lines = await linesOf(files, large);
  for (let attempt = 0; attempt < COMMITS_MAX; attempt++) {
    if (!(await goesOn(paths.length - 1))) return false;
    const parent = await to.hub.head(repository);
    if (parent === null) throw new HoldfastError('hub_failed', `${hubPlaceTextOf(to.place)} is gone.`);
    const there = await assertOwn(to, parent);
    // Of a request of ours whose answer was lost, or of a later revision: this one is not asked for any more.
    if (there !== null && there.made.revision >= revision) return true;
    const gone = (there?.paths ?? []).filter((path) => !paths.includes(path));
    const summary = `Export ${to.id} of Holdfast`;
    if (await to.hub.commit(repository, { parent, summary, lines: [...lines, ...deletions(to, gone)] })) return true;
  }
  throw new HoldfastError('hub_unreachable', `Others commit to ${hubPlaceTextOf(to.place)} all the time.`);
}

/** Removes the files of this export, up to a revision, by a commit. The history of the repository keeps them. */
export async function withdrawFromHub(to: ExportHub, revision: number): Promise<void> {
  const { repository } = to.place;
  for (let attempt = 0; attempt < COMMITS_MAX; attempt++) {
    const parent = await to.hub.head(repository);
    const there = parent === null ? null : await thereAt(to, parent);
    if (parent === null || there === null || there.made.export !== to.id || there.made.revision > revision) return;
    const summary = `Export ${to.id} of Holdfast is taken back`;
    if (await to.hub.commit(repository, { parent, summary, lines: deletions(to, there.paths) })) return;
  }
  throw new HoldfastError('hub_unreachable', `Others commit to ${hubPlaceTextOf(to.place)} all the time.`);
}

export const isMadeOnHub = async (to: ExportHub, revision?: number): Promise<boolean> =>
  isMade(await publishedOnHub(to), to.id, revision);

const deletions = (to: ExportHub, paths: readonly string[]): CommitLine[] =>
  paths.map((path) => ({ key: 'deletedFile', value: { path: pathIn(to, path) } }));

async function firstBytes({ from }: HubFile): Promise<Buffer> {
  const file = await open(from);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(SAMPLE_BYTES), 0, SAMPLE_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Card and manifest are last among files, and first to be in the commit. An empty file cannot be sent as a large one. */
function withLargest(files: readonly HubFile[], large: ReadonlySet<string>): ReadonlySet<string> {
  let bytes = 0;
  const over = files.toReversed().filter(({ path, sizeBytes }) => {
    if (large.has(path)) return false;
    bytes += sizeBytes;
    return bytes > IN_COMMIT_BYTES;
  });
  const all = [...large, ...over.map(({ path }) => path)];
  const empty = new Set(files.filter(({ sizeBytes }) => sizeBytes === 0).map(({ path }) => path));
  return new Set(all.filter((path) => !empty.has(path)));
}

const linesOf = (files: readonly HubFile[], large: ReadonlySet<string>): Promise<CommitLine[]> =>
  Promise.all(
    files.map(async ({ path, from, sizeBytes, sha256 }): Promise<CommitLine> => {
      if (large.has(path)) return { key: 'lfsFile', value: { path, algo: 'sha256', oid: sha256, size: sizeBytes } };
      return { key: 'file', value: { path, content: (await readFile(from)).toString('base64'), encoding: 'base64' } };
    }),
  );
