import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import { eventKey, eventName, LONGEST_MS, waitFor } from '../../core/interruptions/wait.js';
import { jsonValue } from '../../core/json.js';
import { type DeclaredTool, defineTool } from '../define/define-tool.js';
import { readOptions } from '../define/tool-options.js';

const THIRTY_DAYS_MS = 30 * 24 * 3_600_000;

const OPTIONS = { maxMs: z.int().min(1).max(LONGEST_MS).default(THIRTY_DAYS_MS) };

/**
 * `wait_for_event`: pauses the run until `POST /api/v1/events/{name}` tells of the event, or takes one that was told before.
 * Its output is the payload. Needs `event:wait:<name>`. `maxMs`: how long it waits at most, 30 days by default.
 */
export function waitForEventTool(options: { readonly maxMs?: number } = {}): DeclaredTool {
  const { maxMs } = readOptions('wait_for_event', OPTIONS, options);
  return defineTool({
    name: 'wait_for_event',
    description: 'Waits until something happens outside, and gives what is told about it.',
    input: z.object({
      name: eventName.describe('Name of the event.'),
      key: eventKey.optional().describe('Which of several events of this name, such as an order number.'),
      timeoutSeconds: z.number().min(1).optional().describe('Give up after so long.'),
    }),
    output: jsonValue,
    capabilities: ({ name }) => [`event:wait:${name}`],
    effect: 'pure',
    execute: ({ name, key, timeoutSeconds }) => {
      const expiresInMs = timeoutSeconds === undefined ? maxMs : Math.round(timeoutSeconds * 1000);
      if (expiresInMs > maxMs)
        throw new HoldfastError('wait_invalid', `timeoutSeconds is at most ${Math.floor(maxMs / 1000)}.`);
      return waitFor({ kind: 'event', name, expiresInMs, ...(key === undefined ? {} : { key }) });
    },
  });
}
