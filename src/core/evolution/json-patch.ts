import { applyPatch } from 'rfc6902';
import type { JsonObject } from '../json.js';

/** Applies a JSON Patch (RFC 6902) to a copy of an object. Null: one of its operations cannot be applied. */
export function patchedCopy(before: JsonObject, patch: readonly JsonObject[]): JsonObject | null {
  const after = structuredClone(before);
  // What is no operation of a patch comes back as a problem.
  const problems = applyPatch(after, structuredClone(patch) as unknown as Parameters<typeof applyPatch>[1]);
  return problems.every((one) => one === null) ? after : null;
}
