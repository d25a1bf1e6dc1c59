import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import { LONGEST_MS, waitFor } from '../../core/interruptions/wait.js';
import { type DeclaredTool, defineTool } from '../define/define-tool.js';
import { readOptions } from '../define/tool-options.js';

const THIRTY_DAYS_MS = 30 * 24 * 3_600_000;

const OPTIONS = { maxMs: z.int().min(1).max(LONGEST_MS).default(THIRTY_DAYS_MS) };

/**
 * `sleep`: pauses the run for some seconds or until a time, which no restart moves; a time that is past ends at once. Needs
 * `time:sleep:timer`. `maxMs`: how far ahead it may be, 30 days by default.
 */
export function sleepTool(options: { readonly maxMs?: number } = {}): DeclaredTool {
  const { maxMs } = readOptions('sleep', OPTIONS, options);
  return defineTool({
    name: 'sleep',
    description: `Waits for some seconds, or until a time. At most ${Math.floor(maxMs / 1000)} seconds from now.`,
    input: z.object({
      seconds: z.number().min(0).optional().describe('How long.'),
      until: z.iso
        .datetime({ offset: true })
        .optional()
        .describe('A time, such as 2030-01-31T09:00:00Z. Not together with seconds.'),
    }),
    output: z.string(),
    capabilities: ['time:sleep:timer'],
    effect: 'pure',
    execute: ({ seconds, until }, context) => {
      if ((seconds === undefined) === (until === undefined))
        throw new HoldfastError('wait_invalid', 'Say either seconds or until.');
      const afterMs = until === undefined ? Math.round((seconds ?? 0) * 1000) : Date.parse(until) - context.now();
      if (afterMs > maxMs)
        throw new HoldfastError('wait_invalid', `That is further ahead than ${Math.floor(maxMs / 1000)} seconds.`);
      return until === undefined ? waitFor({ kind: 'timer', afterMs }) : waitFor({ kind: 'timer', until });
    },
    resume: ({ seconds, until }, { type }) => {
      if (type !== 'due') return 'The wait ended before its time.';
      return until === undefined ? `${seconds} seconds have passed.` : `It is past ${until}.`;
    },
  });
}
