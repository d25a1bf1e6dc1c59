import { constants, type Dirent } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import { type DeclaredTool, defineTool } from '../define/define-tool.js';
import { boundOf, readOptions } from '../define/tool-options.js';
import { absolutePath, entryBase, resolveReal, withOpened } from './real-path.js';

const DEFAULT_MAX_ENTRIES = 1000;
/** What is read to be sorted; a larger directory is refused. */
const MOST_ENTRIES = 100_000;
/** Bytes of a name in JSON at most, with the rest of its entry. */
const ENTRY_BYTES = 255 * 6 + 64;

const KINDS = ['file', 'directory', 'link', 'other'] as const;

const OPTIONS = { maxEntries: boundOf(ENTRY_BYTES).default(DEFAULT_MAX_ENTRIES) };

/** `list_files`: the entries of one directory by name, not those below. Needs `fs:read:<path>`, as `read_file` does. */
export function listFilesTool(options: { readonly maxEntries?: number } = {}): DeclaredTool {
  const { maxEntries } = readOptions('list_files', OPTIONS, options);
  return defineTool({
    untrusted: 'file',
    name: 'list_files',
    description: `Lists the entries of a directory, sorted by name, at most ${maxEntries}.`,
    input: z.object({ path: absolutePath.describe('Absolute path of the directory.') }),
    output: z.object({
      entries: z.array(z.object({ name: z.string(), type: z.enum(KINDS) })),
      totalEntries: z.int(),
    }),
    capabilities: ({ path }) => [`fs:read:${withoutSlash(path)}`],
    effect: 'pure',
    maxOutputBytes: maxEntries * ENTRY_BYTES + 1024,
    execute: async (input, context) => {
      const path = withoutSlash(input.path);
      context.require(`fs:read:${path}`);
      const real = await resolveReal(path);
      context.require(`fs:read:${real}`);
      const all = await withOpened(real, constants.O_DIRECTORY, async (handle) => {
        const entries: Dirent[] = [];
        for await (const entry of await opendir(await entryBase(handle, real))) {
          context.signal.throwIfAborted();
          if (entries.push(entry) > MOST_ENTRIES) {
            throw new HoldfastError('payload_too_large', `${path} has more than ${MOST_ENTRIES} entries.`);
          }
        }
        return entries;
      });
      all.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
      const entries = all.slice(0, maxEntries).map((entry) => ({ name: entry.name, type: kindOf(entry) }));
      return { entries, totalEntries: all.length };
    },
  });
}

/** Models like to end a directory with a slash; it means the same. */
const withoutSlash = (path: string): string => (path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path);

function kindOf(entry: Dirent): (typeof KINDS)[number] {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'directory';
  return entry.isSymbolicLink() ? 'link' : 'other';
}
