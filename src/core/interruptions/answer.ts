import { type FieldError, HoldfastError } from '../errors/errors.js';
import { canonical, type JsonObject, type JsonValue } from '../json.js';
import type { Allowance } from '../limits/allowance.js';
import { schemaProblem, valueProblems } from '../limits/json-schema.js';
import { spendSchemaWork } from '../limits/linear-schema.js';

/** What the answer to a question must be. */
interface Answerable {
  readonly choices: readonly string[] | null;
  readonly schema: JsonObject | null;
}

const SCHEMA_BYTES = 16_384;

const unusable = (why: string): HoldfastError =>
  new HoldfastError('wait_invalid', `This question cannot be answered: ${why}.`);

/** Throws `wait_invalid` when no answer could ever be checked. */
export function assertAnswerable({ choices, schema }: Answerable): void {
  if (choices !== null && schema !== null) throw unusable('it takes either choices or a schema, not both');
  if (choices !== null && new Set(choices).size < choices.length) throw unusable('two of its choices are the same');
  if (schema === null) return;
  const size = Buffer.byteLength(canonical(schema));
  if (size > SCHEMA_BYTES) throw unusable(`its schema has ${size} bytes; at most ${SCHEMA_BYTES} are taken`);
  const problem = schemaProblem(schema);
  if (problem !== null) throw unusable(`its schema ${problem}`);
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
  return valueProblems(schema, value);
}
