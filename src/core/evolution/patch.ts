import { applyPatch } from 'rfc6902';
import { z } from 'zod';
import { HoldfastError } from '../errors/errors.js';
import { isJson, type JsonObject, jsonObject, jsonValue } from '../json.js';

/** Changes of an agent as JSON Patch (RFC 6902), applied to its definition within fixed bounds. */

const OPERATIONS_MOST = 100;
const PATCH_BYTES_MOST = 65_536;
/** Bounds what copies of copies can grow to. */
const DEFINITION_BYTES_MOST = 1_048_576;

const pointer = z
  .string()
  .max(1000)
  .regex(/^(\/([^~/]|~[01])*)*$/, 'expected a JSON Pointer, such as /instructions');

const step = z.discriminatedUnion('op', [
  z.strictObject({ op: z.literal('add'), path: pointer, value: jsonValue }),
  z.strictObject({ op: z.literal('replace'), path: pointer, value: jsonValue }),
  z.strictObject({ op: z.literal('test'), path: pointer, value: jsonValue }),
  z.strictObject({ op: z.literal('remove'), path: pointer }),
  z.strictObject({ op: z.literal('move'), from: pointer, path: pointer }),
  z.strictObject({ op: z.literal('copy'), from: pointer, path: pointer }),
]);

export const agentPatch = z
  .array(step)
  .min(1)
  .max(OPERATIONS_MOST)
  .refine(
    (steps) => Buffer.byteLength(JSON.stringify(steps)) <= PATCH_BYTES_MOST,
    `is larger than ${PATCH_BYTES_MOST} bytes`,
  )
  .describe('JSON Patch (RFC 6902) of the definition of the agent.');
export type AgentPatch = z.output<typeof agentPatch>;

/** Returns the patched definition. Throws `patch_invalid`, which names the operation that cannot be applied. */
export function patchedDefinition(before: JsonObject, patch: AgentPatch): JsonObject {
  let document: unknown = structuredClone(before);
  for (const [index, operation] of patch.entries()) {
    // The root is replaced in the holder, since the library changes what it is given.
    const holder = { root: document };
    const [problem = null] = applyPatch(holder, [inHolder(operation)]);
    if (problem !== null) {
      const why = problem.message.replaceAll('/root/', '/');
      throw patchInvalid(`operation ${index} (${operation.op} ${operation.path}): ${why}`);
    }
    if (!('root' in holder)) throw patchInvalid(`operation ${index} removes the whole definition`);
    document = holder.root;
    if (!isJson(document)) throw patchInvalid(`after operation ${index} the definition is nested too deeply`);
    if (Buffer.byteLength(JSON.stringify(document)) > DEFINITION_BYTES_MOST)
      throw patchInvalid(`after operation ${index} the definition has more than ${DEFINITION_BYTES_MOST} bytes`);
  }
  const after = jsonObject.safeParse(document);
  if (!after.success) throw patchInvalid('the result is no definition of an agent, which is a JSON object');
  return after.data;
}

const inHolder = (operation: AgentPatch[number]) =>
  'from' in operation
    ? { ...operation, path: `/root${operation.path}`, from: `/root${operation.from}` }
    : { ...operation, path: `/root${operation.path}` };

export const patchInvalid = (why: string): HoldfastError =>
  new HoldfastError('patch_invalid', `The patch cannot be applied: ${why}.`, {
    fields: [{ pointer: '/patch', detail: why }],
  });
