import { access, mkdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { z } from 'zod';
import { HoldfastError } from '../core/errors.js';

/** Where an export is, and where it is made before it is there as a whole. */
export interface ExportFolder {
  /** Absolute. */
  readonly path: string;
  readonly staging: string;
}

/** A tenant has a folder of its own; its name is written so that it is one. */
const tenantName = (tenant: string): string => encodeURIComponent(tenant).replaceAll('.', '%2E');

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

const made = z.object({ export: z.string() });

/** Whether this export is there already, as a whole. */
export async function isPublished({ path }: ExportFolder, id: string): Promise<boolean> {
  try {
    const manifest: unknown = JSON.parse(await readFile(join(path, 'manifest.json'), 'utf8'));
    return made.safeParse(manifest).data?.export === id;
  } catch {
    return false;
  }
}

const leadsOut = (path: string, dir: string): boolean => {
  const way = relative(dir, path);
  return way === '..' || way.startsWith(`..${sep}`);
};

/**
 * Makes the directories above an export. Throws `export_exists` where there is something under its name, and
 * `export_not_writable` where a link leads out of the export directory.
 */
export async function prepareFolder(dir: string, folder: ExportFolder): Promise<void> {
  await mkdir(dirname(folder.path), { recursive: true });
  await mkdir(folder.staging, { recursive: true });
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
  await mkdir(dirname(to), { recursive: true });
  await rename(from, to).catch(async (error: unknown) => {
    if (!(await exists(to))) throw error;
  });
}

export async function writeText(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text, { mode: 0o640 });
}

/** Names what was made as the export: from now on it is there, as a whole. Throws `export_exists`. */
export async function publishFolder(folder: ExportFolder, id: string): Promise<void> {
  if (await isPublished(folder, id)) return;
  await assertNew(folder);
  await rename(folder.staging, folder.path).catch(async (error: unknown) => {
    // Another process, which was thought to be dead, was faster.
    if (!(await isPublished(folder, id))) throw error;
  });
}

/** Removes what was made of an export that does not come about, or is elsewhere now. */
export const removeStaging = (staging: string): Promise<void> => rm(staging, { recursive: true, force: true });
