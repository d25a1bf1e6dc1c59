import type { Allowance } from '../../core/limits/allowance.js';
import { withoutKnownSecrets, withoutSecrets } from '../../models/secrets/known-secrets.js';
import { breathe } from '../../storage/database/timing.js';

/** So deep a body is taken apart: into its members, and those that are lists or objects into theirs. */
const DEPTH = 2;

/**
 * The JSON of a body without secrets. A long list of it is written item by item, so that a large answer keeps nothing else of the process
 * waiting. Throws what the allowance throws.
 */
export async function jsonText(body: unknown, allowance: Allowance): Promise<string> {
  const pieces: string[] = [];
  await write(body, 0, (piece) => {
    allowance.answer(piece.length);
    pieces.push(piece);
  });
  return pieces.join('');
}

async function write(value: unknown, depth: number, add: (piece: string) => void): Promise<void> {
  await breathe();
  if (depth < DEPTH && Array.isArray(value)) {
    add('[');
    for (const [at, item] of value.entries()) {
      if (at > 0) add(',');
      await write(item, depth + 1, add);
    }
    add(']');
    return;
  }
  if (depth < DEPTH && isPlain(value)) {
    add('{');
    let isFirst = true;
    for (const [name, member] of Object.entries(value)) {
      // As `JSON.stringify` does.
      if (member === undefined) continue;
      add(`${isFirst ? '' : ','}${JSON.stringify(withoutKnownSecrets(name))}:`);
      isFirst = false;
      await write(member, depth + 1, add);
    }
    add('}');
    return;
  }
  add(JSON.stringify(withoutSecrets(value)) ?? 'null');
}

/** What says itself how it becomes JSON is left to do so. */
const isPlain = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  Object.getPrototypeOf(value) === Object.prototype &&
  !('toJSON' in value);
