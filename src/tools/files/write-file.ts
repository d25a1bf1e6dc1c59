import { createHash } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import type { ToolContext } from '../../core/tools/tool.js';
import { type DeclaredTool, defineTool } from '../define/define-tool.js';
import { readOptions } from '../define/tool-options.js';
import { absolutePath, elsewhere, entryBase, fileProblem, isMissing, resolveReal, withOpened } from './real-path.js';

const DEFAULT_MAX_BYTES = 1_048_576;
const NEW_FILE_MODE = 0o644;

const OPTIONS = { maxBytes: z.int().min(1).default(DEFAULT_MAX_BYTES) };

/**
 * `write_file`: writes a text file whole, or not at all. Needs `fs:write:<path>` for the path that is asked for and for where it
 * really leads. The directory must exist. A link is not followed, and a file that has other names elsewhere is not touched.
 */
export function writeFileTool(options: { readonly maxBytes?: number } = {}): DeclaredTool {
  const { maxBytes } = readOptions('write_file', OPTIONS, options);
  return defineTool({
    name: 'write_file',
    description: `Writes a text file of at most ${maxBytes} bytes. What the file held before is replaced. Its directory must exist.`,
    input: z.object({
      path: absolutePath.describe('Absolute path of the file.'),
      content: z.string().describe('The whole new content.'),
    }),
    // Nothing here tells a first execution from a second one.
    output: z.object({ sizeBytes: z.int() }),
    capabilities: ({ path }) => [`fs:write:${path}`],
    effect: 'idempotent',
    execute: async ({ path, content }, context) => {
      const sizeBytes = Buffer.byteLength(content);
      if (sizeBytes > maxBytes) {
        throw new HoldfastError(
          'payload_too_large',
          `The content has ${sizeBytes} bytes; at most ${maxBytes} are written.`,
        );
      }
      context.require(`fs:write:${path}`);
      // Only the directory is resolved: the name itself is written, never what a link of that name leads to.
      const parent = await resolveReal(dirname(path));
      context.require(`fs:write:${join(parent, basename(path))}`);
      await withOpened(parent, constants.O_DIRECTORY, async (directory) => {
        const base = await entryBase(directory, parent);
        await replace(base, basename(path), content, { path, context });
        await directory.sync();
      });
      return { sizeBytes };
    },
  });
}

async function statOf(path: string): Promise<Stats | null> {
  try {
    return await lstat(path);
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** Writes beside the file and renames: a reader sees the old content or the new one, also after a crash. */
async function replace(
  base: string,
  name: string,
  content: string,
  { path, context }: { readonly path: string; readonly context: ToolContext },
): Promise<void> {
  const target = `${base}/${name}`;
  const mode = await modeOf(target, path);
  // The same name at every execution of this call, so that what a crash left behind is cleared away by the next one.
  const draft = `${base}/.${createHash('sha256').update(context.idempotencyKey).digest('hex').slice(0, 24)}.draft`;
  await rm(draft, { force: true });
  try {
    await write(draft, content, mode, context.signal);
    context.signal.throwIfAborted();
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { force: true });
    throw fileProblem(error, path);
  }
}

async function modeOf(target: string, path: string): Promise<number> {
  const stat = await statOf(target);
  if (stat === null) return NEW_FILE_MODE;
  if (stat.isSymbolicLink()) throw elsewhere(path, 'it is a link');
  if (!stat.isFile()) throw new HoldfastError('tool_failed', `${path} is not a regular file.`);
  if (stat.nlink > 1) throw elsewhere(path, 'the same file has other names');
  return stat.mode & 0o777;
}

async function write(draft: string, content: string, mode: number, signal: AbortSignal): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  let handle: FileHandle | undefined;
  try {
    handle = await open(draft, flags, 0o600);
    await handle.writeFile(content, { encoding: 'utf8', signal });
    await handle.chmod(mode);
    await handle.sync();
  } finally {
    await handle?.close();
  }
}
