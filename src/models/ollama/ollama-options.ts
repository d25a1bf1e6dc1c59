import { z } from 'zod';
import { type FieldError, HoldfastError } from '../../core/errors/errors.js';
import { fieldErrorsOf } from '../../core/field-errors.js';
import { isOllamaAddress, OLLAMA_ADDRESS } from '../../core/models/ollama-address.js';
import { unknownNames } from '../../core/nearest-name.js';
import { timeoutOption } from '../openai/openai-compatible-options.js';
import { isSecret, type Secret } from '../secrets/secret.js';

const address = z
  .string(`expected ${OLLAMA_ADDRESS}`)
  .refine((text) => text.trim() === '' || isOllamaAddress(text), `expected ${OLLAMA_ADDRESS}`)
  .nullish();

const key = z
  .custom<string | Secret>((value) => typeof value === 'string' || isSecret(value), 'expected a text or a secret')
  .nullish();

const callback = z.custom<(...args: never[]) => unknown>((value) => typeof value === 'function', 'expected a function');

const shape = z.object({
  baseURL: address,
  apiKey: key,
  ollamaHost: address,
  ollamaApiKey: key,
  numCtx: z.int('expected a whole number').min(1, 'expected at least 1').optional(),
  keepAlive: z.union([z.number('expected seconds'), z.string('a duration as "10m"')]).optional(),
  think: z.union([z.boolean('expected true or false'), z.string('a level')]).optional(),
  options: z.record(z.string(), z.unknown(), 'expected an object').optional(),
  toolImages: z.enum(['tool', 'user'], 'expected tool or user').optional(),
  extractThinking: z.boolean('expected true or false').optional(),
  timeoutMs: timeoutOption.optional(),
  newId: callback.optional(),
  fetch: callback.optional(),
  recordTo: z.string().min(1, 'expected the path of a directory').optional(),
});

/** Every option that is wrong or not known, with what was expected. Values are not repeated. */
export function ollamaProblems(options: object): readonly FieldError[] {
  const { error } = shape.safeParse(options);
  return [...unknownNames(options, Object.keys(shape.shape)), ...(error === undefined ? [] : fieldErrorsOf(error))];
}

/** Throws `config_invalid` that names every option that is wrong. */
export function assertOllamaOptions(options: object): void {
  const fields = ollamaProblems(options);
  if (fields.length === 0) return;
  const said = fields.map(({ pointer, detail }) => `${pointer.slice(1)}: ${detail}`).join('; ');
  throw new HoldfastError('config_invalid', `The Ollama models cannot work like this: ${said}.`, { fields });
}
