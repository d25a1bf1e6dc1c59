import { randomUUID } from 'node:crypto';
import { access, mkdir, readFile, realpath, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { HoldfastError } from '../core/errors/errors.js';
import { isMade, type Made, madeOf } from '../core/exports/dataset-card.js';
import { sha256 } from '../core/json.js';

/** Where an export is, and where it is made before it is there as a whole. */
export interface ExportFolder {
  /** Absolute. */
  readonly path: string;
  readonly staging: string;
}

/** No file system takes a longer name. */
const NAME_MOST = 255;

/** A tenant has a folder of its own; its name is written so that it is one. No whole name has a dot. */
function tenantName(tenant: string): string {
  const name = encodeURIComponent(tenant).replaceAll('.', '%2E');
  return name.length <= NAME_MOST ? name : `${name.slice(0, 180)}.${sha256(name).slice('sha256:'.length)}`;
}

export interface Whose {
  readonly tenant: string;
  /** Of the export. */
  readonly id: string;
}

/** Where an export is made before it is anywhere as a whole. */
export const stagingOf = (dir: string, { tenant, id }: Whose): string =>
  join(dir, tenantName(tenant), `.${id}.partial`);

export const exportFolder = (dir: string, whose: Whose, folder: string): ExportFolder => ({
  path: join(dir, tenantName(whose.tenant), folder),
  staging: stagingOf(dir, whose),
});

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** What is there as a whole; null: nothing that says of itself what it is. */
export async function publishedIn({ path }: Pick<ExportFolder, 'path'>): Promise<Made | null> {
  return madeOf(await readFile(join(path, 'manifest.json'), 'utf8').catch(() => 'null'));
}

/** Whether a path is not in a directory, nor is the directory itself. */
export const leadsOut = (path: string, dir: string): boolean => {
  const way = relative(dir, path);
  return way === '..' || way.startsWith(`..${sep}`);
};

/** The folder above one, below the export directory, that is an export as a whole; null: none is. */
async function exportAbove(dir: string, path: string): Promise<string | null> {
  for (let above = dirname(path); above !== dir && !leadsOut(above, dir); above = dirname(above))
    if ((await publishedIn({ path: above })) !== null) return above;
  return null;
}

/**
 * Makes the directories above an export. Throws `export_exists` where there is something under its name or the folder is within
 * another export, and `export_not_writable` where a link leads out of the export directory.
 */
export async function prepareFolder(dir: string, folder: ExportFolder): Promise<void> {
  const above = await exportAbove(dir, folder.path);
  if (above !== null) throw new HoldfastError('export_exists', `${folder.path} is within another export, at ${above}.`);
  await mkdir(dirname(folder.path), { recursive: true, mode: 0o700 });
  await mkdir(folder.staging, { recursive: true, mode: 0o700 });
  if (leadsOut(await realpath(dirname(folder.path)), await realpath(dir)))
    throw new HoldfastError('export_not_writable', `${folder.path} is not below the export directory ${dir}.`);
  await assertNew(folder);
}

async function assertNew({ path }: ExportFolder): Promise<void> {
  if (await exists(path)) throw new HoldfastError('export_exists', `There is something at ${path} already.`);
}

export const hasFile = (path: string): Promise<boolean> => exists(path);

/** Puts a file that is whole under another name. Doing it again does nothing. */
export async function moveFile(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  await rename(from, to).catch(async (error: unknown) => {
    if (!(await exists(to))) throw error;
  });
}

export async function writeText(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(path, text, { mode: 0o600 });
}

/** Names what was made as the export: from now on it is there, as a whole. Throws `export_exists`. */
export async function publishFolder(folder: ExportFolder, from: string): Promise<void> {
  const mine = await publishedIn({ path: from });
  const isThere = async (): Promise<boolean> =>
    mine !== null && isMade(await publishedIn(folder), mine.export, mine.revision);
  // Of another process, which was thought to be dead: the same, or an earlier revision.
  if (await isThere()) return;
  if (mine !== null) await withdrawFolder(folder, mine.export, mine.revision);
  await assertNew(folder);
  await rename(from, folder.path).catch(async (error: unknown) => {
    if (await isThere()) return;
    // Someone else may have made the folder in between.
    await assertNew(folder);
    throw error;
  });
}

/** Takes an export away that was published, up to a revision. What else is there stays. */
export async function withdrawFolder(folder: ExportFolder, id: string, revision: number): Promise<void> {
  const isIts = (there: Made | null): boolean => there?.export === id && there.revision <= revision;
  if (!isIts(await publishedIn(folder))) return;
  const away = join(folder.staging, `withdrawn-${randomUUID()}`);
  await mkdir(folder.staging, { recursive: true, mode: 0o700 });
  try {
    await rename(folder.path, away);
  } catch (error) {
    if (isIts(await publishedIn(folder))) throw error;
    return;
  }
  // Another process may have put a later one there since.
  if (isIts(await publishedIn({ path: away }))) await rm(away, { recursive: true, force: true });
  else await rename(away, folder.path);
}

/** Removes what was made of an export that does not come about, or is elsewhere now. */
export const removeStaging = (staging: string): Promise<void> => rm(staging, { recursive: true, force: true });

/** Where a revision of an export is made: its parts, and then the whole. */
export const revisionDir = (staging: string, revision: number): string => join(staging, `revision-${revision}`);

/** Leaves nothing of the revisions up to one. Another process may be at work on a later one. */
export async function tidyStaging(staging: string, revision: number): Promise<void> {
  for (let one = 0; one <= revision; one++) await rm(revisionDir(staging, one), { recursive: true, force: true });
  await rmdir(staging).catch(() => undefined);
}
