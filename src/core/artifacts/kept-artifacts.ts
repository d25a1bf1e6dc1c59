import { z } from 'zod';

/** What of an attempt is kept beside its log. docs/tasks/artifacts.md describes it. */

/** Of one artifact, of all of a run, and how many there may be. */
export const ARTIFACT_BYTES = 8 * 1024 * 1024;
export const ARTIFACTS_BYTES = 64 * 1024 * 1024;
export const ARTIFACTS_MOST = 200;
/** Of what was left out so much is named. */
export const LEFT_OUT_MOST = 100;

/** What no name of a file has cannot be chosen either, and no placeholder is filled in. */
const isPattern = (text: string): boolean =>
  text.isWellFormed() &&
  !/\p{Cc}|\\|\{\{/u.test(text) &&
  !text.split('/').some((name) => ['', '.', '..'].includes(name));

const pattern = z
  .string()
  .max(500)
  .refine(isPattern, 'is no path below the workspace; `*`, `?` and `**` stand for others');

export const taskArtifacts = z
  .strictObject({
    /** What the agent changed, as a patch. */
    patch: z.boolean().default(false),
    /** Files of the workspace. `*` and `?` stand for characters of one name, `**` for any directories. */
    files: z.array(pattern).max(50).default([]),
    /** The whole output of each test, of `compile` and of `lint`. */
    commandOutput: z.boolean().default(false),
  })
  .refine(({ patch, files, commandOutput }) => patch || commandOutput || files.length > 0, 'names nothing to keep');
export type TaskArtifacts = z.output<typeof taskArtifacts>;

export const ARTIFACT_KINDS = ['patch', 'file', 'output'] as const;

export const artifact = z.object({
  name: z.string().describe('Name that reads it.'),
  kind: z.enum(ARTIFACT_KINDS),
  path: z
    .string()
    .describe('Of a file: below the workspace. Of an output: the command and its stream. Of a patch: how it was made.'),
  sizeBytes: z.int(),
  sha256: z.string(),
});
export type Artifact = z.infer<typeof artifact>;

/** What of an attempt was kept, and what was not. */
export const keptArtifacts = z.object({
  items: z.array(artifact),
  leftOut: z.array(z.object({ path: z.string(), why: z.string() })).describe('What was not kept, each with why.'),
  more: z.int().describe('How much more was left out than is named.'),
});
export type KeptArtifacts = z.infer<typeof keptArtifacts>;

/** Nothing was to be kept. */
export const NOTHING_KEPT: KeptArtifacts = { items: [], leftOut: [], more: 0 };

/** What is kept where nothing could be, and why. */
export const notKept = (why: string): KeptArtifacts => ({
  ...{ items: [], more: 0 },
  leftOut: [{ path: 'all files', why: why.slice(0, 300).toWellFormed() }],
});

/** What several steps of one verification kept. */
export function allArtifacts(all: readonly KeptArtifacts[]): KeptArtifacts {
  const leftOut = all.flatMap((one) => one.leftOut);
  const more = all.reduce((sum, one) => sum + one.more, 0) + Math.max(0, leftOut.length - LEFT_OUT_MOST);
  return { items: all.flatMap(({ items }) => items), leftOut: leftOut.slice(0, LEFT_OUT_MOST), more };
}

/** Whether a path is like one of the patterns. */
export const isChosen = (path: string, patterns: readonly string[]): boolean => {
  const names = path.split('/');
  return patterns.some((one) => fitsPath(names, one.split('/')));
};

/** In time that grows with the product of both, since each name is compared with each part once. */
function fitsPath(names: readonly string[], pattern: readonly string[]): boolean {
  let reached = new Set([0]);
  for (const part of pattern) {
    const next = new Set<number>();
    if (part === '**') for (let at = Math.min(...reached); at <= names.length; at++) next.add(at);
    else for (const at of reached) if (at < names.length && fitsName(names[at] ?? '', part)) next.add(at + 1);
    if (next.size === 0) return false;
    reached = next;
  }
  return reached.has(names.length);
}

/** Greedy: the last `*` takes one more character where the rest does not fit. */
function fitsName(name: string, part: string): boolean {
  let [at, from, star, taken] = [0, 0, -1, 0];
  while (at < name.length) {
    if (part[from] === '*') [star, taken, from] = [from, at, from + 1];
    else if (from < part.length && (part[from] === '?' || part[from] === name[at])) [at, from] = [at + 1, from + 1];
    else if (star >= 0) [from, taken, at] = [star + 1, taken + 1, taken + 1];
    else return false;
  }
  while (part[from] === '*') from++;
  return from === part.length;
}
