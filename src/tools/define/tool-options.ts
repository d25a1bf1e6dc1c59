import { z } from 'zod';
import { fieldErrorsWithNames } from '../../core/field-errors.js';
import { isRecord } from '../../core/json.js';
import { MOST_OUTPUT_BYTES } from '../../core/tools/tool.js';
import { wrongTool } from './tool-declaration.js';

/**
 * Reads the options of a tool that ships. A name that nothing reads would leave a bound at its default. Throws `tool_invalid`, which names
 * every wrong option.
 */
export function readOptions<S extends z.ZodRawShape>(tool: string, shape: S, options: unknown) {
  const parsed = z.strictObject(shape).safeParse(options);
  if (parsed.success) return parsed.data;
  throw wrongTool(tool, fieldErrorsWithNames(parsed.error, isRecord(options) ? options : {}, Object.keys(shape)));
}

/** The bytes that a tool gives at most. Each byte takes so many in the JSON of its output. */
export const boundOf = (bytesInJson: number) =>
  z
    .int()
    .min(1)
    .max(Math.floor((MOST_OUTPUT_BYTES - 262_144) / bytesInJson));
