import { z } from 'zod';
import { type FieldError, HoldfastError } from '../errors/errors.js';
import { fieldErrorsOf } from '../field-errors.js';
import { canonical, type JsonObject, type JsonValue } from '../json.js';
import type { Allowance } from '../limits/allowance.js';
import { spendSchemaWork } from '../limits/linear-schema.js';

/** What the answer to a question must be. */
interface Answerable {
  readonly choices: readonly string[] | null;
  readonly schema: JsonObject | null;
}

const SCHEMA_BYTES = 16_384;

/** Keywords whose check may take forever on a text that someone chose. */
const SLOW_KEYWORDS = new Set(['pattern', 'patternProperties']);

const unusable = (why: string): HoldfastError =>
  new HoldfastError('wait_invalid', `This question cannot be answered: ${why}.`);

/** Throws `wait_invalid` when no answer could ever be checked. */
export function assertAnswerable({ choices, schema }: Answerable): void {
  if (choices !== null && schema !== null) throw unusable('it takes either choices or a schema, not both');
  if (choices !== null && new Set(choices).size < choices.length) throw unusable('two of its choices are the same');
  if (schema === null) return;
  const size = Buffer.byteLength(canonical(schema));
  if (size > SCHEMA_BYTES) throw unusable(`its schema has ${size} bytes; at most ${SCHEMA_BYTES} are taken`);
  const slow = slowKeywordIn(schema);
  if (slow !== null) throw unusable(`its schema uses ${slow}, which is not taken`);
  schemaOf(schema);
}

function slowKeywordIn(value: JsonValue): string | null {
  if (typeof value !== 'object' || value === null) return null;
  for (const [key, item] of Object.entries(value)) {
    // A property may have that name; then its value is a schema, not a text or a map of patterns.
    if (SLOW_KEYWORDS.has(key) && (typeof item === 'string' || key === 'patternProperties')) return key;
    const inner = slowKeywordIn(item);
    if (inner !== null) return inner;
  }
  return null;
}

function schemaOf(schema: JsonObject): z.ZodType {
  try {
    return z.fromJSONSchema(structuredClone(schema) as Parameters<typeof z.fromJSONSchema>[0]);
  } catch (cause) {
    throw unusable(`its schema cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
}

/** What is wrong with an answer, with pointers into it; an empty list: it fits. Throws what the allowance throws. */
export function answerProblems(
  { choices, schema }: Answerable,
  value: JsonValue,
  allowance: Allowance,
): readonly FieldError[] {
  if (choices !== null) {
    if (typeof value === 'string' && choices.includes(value)) return [];
    return [{ pointer: '', detail: `expected one of ${choices.map((choice) => JSON.stringify(choice)).join(', ')}` }];
  }
  if (schema === null) return typeof value === 'string' ? [] : [{ pointer: '', detail: 'expected a text' }];
  spendSchemaWork(schema, value, allowance);
  const result = schemaOf(schema).safeParse(value);
  return result.success ? [] : fieldErrorsOf(result.error);
}
