import { posix } from 'node:path';
import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import type { ToolContext } from '../../core/tools/tool.js';
import { withoutKnownSecrets } from '../../models/secrets/known-secrets.js';
import { MAX_FILE_BYTES, notEdited, readOriginal } from '../container/container-original.js';
import { containerPath } from '../container/container-path.js';
import { MAX_TEXT_BYTES, spliceBetween, spliceFile } from '../container/splice-file.js';
import { type DeclaredTool, defineTool } from '../define/define-tool.js';
import { type CheckOptions, type Commits, checkEdits, commitFiles } from './check-edits.js';
import { editText } from './edit-text.js';
import { WORK_OF_ANSWER, type Work } from './locate-lines.js';
import { fileShown } from './look-around.js';

/** The edits of one answer: files one after the other, then a commit, then linters, then tests. */

export const MOST_EDITS = 100;
const WHY_CHARS = 8000;

const text = z.string().max(MAX_FILE_BYTES);
const edit = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('block'), search: text, replace: text }),
  z.strictObject({ kind: z.literal('hunk'), lines: text }),
  z.strictObject({ kind: z.literal('whole'), text }),
]);
const input = z.strictObject({
  edits: z
    .array(z.strictObject({ path: containerPath, edit }))
    .min(1)
    .max(MOST_EDITS),
  message: z
    .string()
    .max(500)
    .regex(/^[^\0]*$/)
    .describe('What a commit of them says.'),
  reflections: z.int().min(0).describe('How many answers before this one had to be mended.'),
});
type Asked = z.infer<typeof input>['edits'];

export const editsApplied = z.strictObject({
  ok: z.boolean().describe('Whether nothing is left to mend.'),
  edited: z.array(z.string()),
  failed: z.array(z.string()).describe('Why edits were not made.'),
  files: z.array(fileShown).describe('Edited files as they are now.'),
  commit: z.string().nullable(),
  lint: z.string().nullable().describe('What linters say; null: nothing.'),
  test: z.string().nullable().describe('What failed tests print; null: they passed, or were not run.'),
});
export type EditsApplied = z.infer<typeof editsApplied>;

export interface ApplyOptions extends CheckOptions {
  readonly fileChars: number;
  readonly commits: Commits | null;
}

/**
 * `apply_edits`. Needs `container:write:<path>` and `container:read:<path>` of each file, and `container:exec:shell`. Every command
 * of it runs once: executed again after a crash it collects what came of those that ran, and goes on behind them.
 */
export const applyTool = (options: ApplyOptions): DeclaredTool =>
  defineTool({
    untrusted: 'container',
    name: 'apply_edits',
    description: 'Makes the edits of an answer, commits them, and runs linters and tests.',
    input,
    output: editsApplied,
    capabilities: ({ edits }) => [
      'container:exec:shell',
      ...[...new Set(edits.map(({ path }) => path))].flatMap((path) => [
        `container:write:${path}`,
        `container:read:${path}`,
      ]),
    ],
    effect: 'unsafe',
    onUnknownEffect: 'rerun',
    timeoutMs: 3_600_000,
    maxOutputBytes: 16 * 1024 * 1024,
    execute: async ({ edits, message }, context) => {
      const paths = [...new Set(edits.map(({ path }) => path))];
      if (options.commits !== null)
        await commitFiles(
          context.environment,
          paths,
          options.commits,
          'Changes that were there before the edits',
          true,
        );
      const work: Work = { left: WORK_OF_ANSWER };
      const made: { path: string; text: string }[] = [];
      const failed: string[] = [];
      for (const path of paths) {
        const after = await editFile(
          context,
          path,
          edits.filter((one) => one.path === path),
          work,
          failed,
        );
        if (after !== null) made.push({ path, text: after });
      }
      const edited = made.map(({ path }) => path);
      const files = shownOf(made, options.fileChars);
      if (edited.length === 0) return { ok: false, edited, failed, files, commit: null, lint: null, test: null };
      const commit = options.commits && (await commitFiles(context.environment, edited, options.commits, message));
      // Edits that were not made come first: what linters say of half of an answer helps no one.
      const checks =
        failed.length > 0 ? { lint: null, test: null } : await checkEdits(context.environment, edited, options);
      return {
        ok: failed.length === 0 && checks.lint === null && checks.test === null,
        edited,
        failed,
        files,
        commit,
        ...checks,
      };
    },
  });

/** Makes all edits of one file, in their order, in one go. Gives its text then; null: none was made. */
async function editFile(
  context: ToolContext,
  path: string,
  edits: Asked,
  work: Work,
  failed: string[],
): Promise<string | null> {
  try {
    const original = await readOriginal(context.environment, path);
    context.require(`container:write:${original.path}`);
    context.require(`container:read:${original.path}`);
    let now = original.text;
    const why: string[] = [];
    for (const one of edits) {
      const edited = editText(path, now, one.edit, work);
      if (edited.type === 'edited') now = edited.text;
      else why.push(withoutKnownSecrets(edited.why).slice(0, WHY_CHARS).toWellFormed());
    }
    if (now !== null && now !== original.text) await writeText(context, path, original, now);
    failed.push(...why);
    return why.length === edits.length ? null : now;
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== 'file_unwritable') throw error;
    failed.push(error.message);
    return null;
  }
}

async function writeText(
  context: ToolContext,
  path: string,
  original: Awaited<ReturnType<typeof readOriginal>>,
  now: string,
): Promise<void> {
  if (Buffer.byteLength(now) > MAX_FILE_BYTES) throw notEdited(path, `it would be larger than ${MAX_FILE_BYTES} bytes`);
  const change = spliceBetween(original.text ?? '', now);
  if (Buffer.byteLength(change.text) > MAX_TEXT_BYTES)
    throw notEdited(path, `an edit changes at most ${MAX_TEXT_BYTES} bytes at once; make it in several answers`);
  if (change.text.includes('\0')) throw notEdited(path, 'the edit has a NUL character');
  if (original.text === null) {
    const made = await context.environment.run(['mkdir', '-p', '--', posix.dirname(original.path)]);
    if (made.exitCode !== 0) throw notEdited(path, 'its directory cannot be made');
  }
  await spliceFile(context, path, original, change, '');
}

/** Files that are small enough to be in the chat, as far as they fit into one result. */
function shownOf(
  made: readonly { readonly path: string; readonly text: string }[],
  fileChars: number,
): { path: string; text: string }[] {
  let left = fileChars * 4;
  return made.flatMap(({ path, text: now }) => {
    if (now.length > fileChars || now.length > left) return [];
    left -= now.length;
    return [{ path, text: withoutKnownSecrets(now) }];
  });
}
