import { HoldfastError } from '../../core/errors/errors.js';
import type { JsonValue } from '../../core/json.js';
import type { ToolSpec } from '../../core/tools/tool.js';

/** Gives the output back if it is within its tool's bound as JSON in UTF-8; throws `payload_too_large`. */
export function boundOutput(spec: Pick<ToolSpec, 'name' | 'maxOutputBytes'>, value: JsonValue): JsonValue {
  const sizeBytes = Buffer.byteLength(JSON.stringify(value));
  if (sizeBytes <= spec.maxOutputBytes) return value;
  throw new HoldfastError(
    'payload_too_large',
    `The output of ${spec.name} has ${sizeBytes} bytes as JSON; its bound is ${spec.maxOutputBytes}.`,
    { hint: 'Ask for less at once, or raise maxOutputBytes of the tool.' },
  );
}
