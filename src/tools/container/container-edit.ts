import { z } from 'zod';
import { type DeclaredTool, defineTool } from '../define/define-tool.js';
import { MAX_FILE_BYTES, notEdited, readOriginal } from './container-original.js';
import { containerPath } from './container-path.js';

/**
 * `edit`: replaces a text that stands once in a file of the container, or writes a new file. Needs `container:write:<path>` for the
 * path that is asked for and for where it really leads. Executed again after a crash it does the same to the same original.
 */
export function containerEditTool(): DeclaredTool {
  return defineTool({
    untrusted: 'container',
    name: 'edit',
    description:
      'Replaces a text that stands exactly once in a file. With an empty oldText it makes a new file, whose directory must exist.',
    input: z.object({
      path: containerPath.describe('Absolute path of the file.'),
      oldText: z.string().max(MAX_FILE_BYTES).describe('What is replaced, exactly as it stands. Empty: a new file.'),
      newText: z.string().max(MAX_FILE_BYTES).describe('What stands there then.'),
    }),
    output: z.object({ sizeBytes: z.int() }),
    capabilities: ({ path }) => [`container:write:${path}`],
    effect: 'idempotent',
    timeoutMs: 600_000,
    execute: async ({ path, oldText, newText }, { environment, require }) => {
      const { path: real, text } = await readOriginal(environment, path);
      if (oldText === '' && text !== null)
        throw notEdited(path, 'it is there already; say in oldText what is to be replaced');
      if (oldText !== '' && text === null) throw notEdited(path, 'there is no such file');
      require(`container:write:${real}`);
      const edited = Buffer.from(text === null ? newText : replaced(path, text, oldText, newText));
      await environment.write(real, edited);
      return { sizeBytes: edited.length };
    },
  });
}

function replaced(path: string, text: string, oldText: string, newText: string): string {
  const at = text.indexOf(oldText);
  if (at < 0) throw notEdited(path, 'oldText does not stand in it');
  if (text.indexOf(oldText, at + 1) >= 0) throw notEdited(path, 'oldText stands in it more than once');
  return text.slice(0, at) + newText + text.slice(at + oldText.length);
}
