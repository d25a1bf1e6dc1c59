import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import { withoutKnownSecrets } from '../../models/secrets/known-secrets.js';
import { type DeclaredTool, defineTool } from '../define/define-tool.js';
import { containerPath, textOf } from './container-path.js';

const MAX_FILE_BYTES = 4 * 1024 * 1024;
const DEFAULT_LINES = 2000;
const LONGEST_LINE = 2000;
const MAX_OUTPUT_BYTES = 262_144;

/**
 * `read`: lines of a text file in the container of the run, with their numbers. Needs `container:read:<path>` for the path that is asked
 * for and for where it really leads.
 */
export function containerReadTool(): DeclaredTool {
  return defineTool({
    untrusted: 'container',
    name: 'read',
    description: `Reads a text file, with the number of each line. At most ${DEFAULT_LINES} lines at once.`,
    input: z.object({
      path: containerPath.describe('Absolute path of the file.'),
      firstLine: z.int().min(1).optional().describe('Where to begin; 1 without it.'),
      lines: z.int().min(1).max(DEFAULT_LINES).optional().describe('How many.'),
    }),
    output: z.object({ content: z.string(), totalLines: z.int() }),
    capabilities: ({ path }) => [`container:read:${path}`],
    effect: 'pure',
    maxOutputBytes: MAX_OUTPUT_BYTES,
    execute: async ({ path, firstLine = 1, lines = DEFAULT_LINES }, { environment, require }) => {
      const file = await environment.read(path, MAX_FILE_BYTES);
      require(`container:read:${file.path}`);
      const text = textOf(file.bytes);
      if (text === null) throw new HoldfastError('file_unreadable', `${path} is not text in UTF-8.`);
      // Whole: numbers between its lines would hide a secret over several, and a cut would leave the beginning of one.
      const all = withoutKnownSecrets(text).split('\n');
      if (all.at(-1) === '') all.pop();
      const shown = all.slice(firstLine - 1, firstLine - 1 + lines);
      const content = shown.map((line, index) => `${firstLine + index}\t${line.slice(0, LONGEST_LINE)}`).join('\n');
      return { content: content.toWellFormed(), totalLines: all.length };
    },
  });
}
