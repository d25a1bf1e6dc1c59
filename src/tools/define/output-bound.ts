import { HoldfastError } from '../../core/errors/errors.js';
import type { JsonValue } from '../../core/json.js';
import type { ToolSpec } from '../../core/tools/tool.js';

type Bound = Pick<ToolSpec, 'name' | 'maxOutputBytes'>;

/** Gives the output back if it is within its tool's bound as JSON in UTF-8; throws `payload_too_large`. */
export function boundOutput(spec: Bound, value: JsonValue): JsonValue {
  return bounded(spec, value, Buffer.byteLength(JSON.stringify(value)));
}

/** The same of a text that a model reads in place of the output. */
export const boundText = (spec: Bound, text: string): string => bounded(spec, text, Buffer.byteLength(text));

function bounded<T>(spec: Bound, value: T, sizeBytes: number): T {
  if (sizeBytes <= spec.maxOutputBytes) return value;
  throw new HoldfastError(
    'payload_too_large',
    `The output of ${spec.name} has ${sizeBytes} bytes as JSON; its bound is ${spec.maxOutputBytes}.`,
    {
      hint: 'Ask for less at once, or raise maxOutputBytes of the tool; of a plain tool of the SDK, plainTools.maxOutputBytes of the agent.',
    },
  );
}
