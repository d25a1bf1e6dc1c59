import { z } from 'zod';
import { fieldErrorsOf } from '../../core/field-errors.js';
import { isRecord } from '../../core/json.js';
import { unknownNames } from '../../core/nearest-name.js';
import { MOST_OUTPUT_BYTES } from '../../core/tools/tool.js';
import { wrongTool } from './tool-declaration.js';

/**
 * Reads the options of a tool that ships. A name that nothing reads would leave a bound at its default. Throws `tool_invalid`, which names
 * every wrong option.
 */
export function readOptions<S extends z.ZodRawShape>(tool: string, shape: S, options: unknown) {
  const parsed = z.strictObject(shape).safeParse(options);
  if (parsed.success) return parsed.data;
  const unknown = isRecord(options) ? unknownNames(options, Object.keys(shape)) : [];
  const named = new Map(unknown.map((field) => [field.pointer, field]));
  throw wrongTool(
    tool,
    fieldErrorsOf(parsed.error).map((field) => named.get(field.pointer) ?? field),
  );
}

/** The bytes that a tool gives at most. Each byte takes so many in the JSON of its output. */
export const boundOf = (bytesInJson: number) =>
  z
    .int()
    .min(1)
    .max(Math.floor((MOST_OUTPUT_BYTES - 262_144) / bytesInJson));
