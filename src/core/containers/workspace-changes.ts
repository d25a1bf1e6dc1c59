import { z } from 'zod';

/** Of one call at most so many files are named. */
export const CHANGES_MOST = 1000;

/** What an environment says of changes that calls make to its files. */
export const fileChanges = z.strictObject({
  /** Files named for each call. */
  most: z.int().min(1).max(CHANGES_MOST).default(100),
});

const changedFile = z.object({
  path: z.string().describe('Relative to the workspace.'),
  change: z.enum(['written', 'removed']),
  digest: z.string().nullable().describe('SHA-256 of the content; null: it was removed, or is too large.'),
  sizeBytes: z.int().nullable(),
});

/** What the workspace of a run was after a call, beside what the call gave. */
export const workspaceChanges = z.object({
  cwd: z.string().describe('Directory in which the last command of the call began.'),
  files: z.array(changedFile).describe('Files that changed since the call before.'),
  more: z.int().min(0).describe('Number of changed files that are not named.'),
  complete: z.boolean().describe('False: the workspace has too many files, and changes of some were not looked for.'),
});
export type WorkspaceChanges = z.infer<typeof workspaceChanges>;

interface KnownFile {
  path: string;
  digest: string;
}

/** The files of a run after a call, by what changed; the one that was written last is the last. */
export function withChanges(known: readonly KnownFile[], { files }: WorkspaceChanges, most: number): KnownFile[] {
  const changed = new Set(files.map(({ path }) => path));
  const written = files.flatMap(({ path, digest }) => (digest === null ? [] : [{ path, digest }]));
  return [...known.filter(({ path }) => !changed.has(path)), ...written].slice(-most);
}
