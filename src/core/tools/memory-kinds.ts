import { HoldfastError } from '../errors/errors.js';
import { isObject, type JsonObject, type JsonValue } from '../json.js';
import { namesOf, pointerTo, type StateOp } from './agent-state.js';

/** What stands at a place of a document. */
type Kind = Members | 'number' | 'list' | 'other';
type Members = Map<string, Kind>;

const membersOf = (value: JsonObject): Members =>
  new Map(Object.entries(value).map(([name, member]) => [name, kindOf(member)]));

function kindOf(value: JsonValue): Kind {
  if (typeof value === 'number') return 'number';
  if (Array.isArray(value)) return 'list';
  return isObject(value) ? membersOf(value) : 'other';
}

/**
 * Refuses changes that would put a sum, a list or a member in the place of something else. `value`: that of the version they are made for,
 * since what others wrote later is merged. Throws `memory_invalid`.
 */
export function assertExtending(value: JsonObject, ops: readonly StateOp[]): void {
  const root = membersOf(value);
  for (const op of ops) {
    const names = namesOf(op.path);
    const holder = holderAt(root, names, op);
    const last = names.at(-1) ?? '';
    const found = holder?.get(last);
    if (op.op === 'add' && found !== undefined && found !== 'number') throw otherAt(names, op, 'a number');
    if (op.op === 'append' && found !== undefined && found !== 'list') throw otherAt(names, op, 'a list');
    if (op.op === 'remove') holder?.delete(last);
    else holder?.set(last, KINDS[op.op](op as never));
  }
}

const KINDS: { readonly [K in 'set' | 'add' | 'append']: (op: Extract<StateOp, { op: K }>) => Kind } = {
  set: ({ value }) => kindOf(value),
  add: () => 'number',
  append: () => 'list',
};

/** What the last name of a path is a member of. Makes it, but for a removal, where nothing is. Null: nothing is removed. */
function holderAt(root: Members, names: readonly string[], op: StateOp): Members | null {
  let holder = root;
  for (const [depth, name] of names.slice(0, -1).entries()) {
    const found = holder.get(name);
    if (found !== undefined && !(found instanceof Map)) {
      if (op.op === 'remove') return null;
      throw otherAt(names.slice(0, depth + 1), op, 'an object');
    }
    if (found === undefined && op.op === 'remove') return null;
    const next: Members = found ?? new Map();
    holder.set(name, next);
    holder = next;
  }
  return holder;
}

const otherAt = (names: readonly string[], { op, path }: StateOp, expected: string): HoldfastError =>
  new HoldfastError(
    'memory_invalid',
    `There is something else at ${pointerTo(names)}: ${op} of ${path} expected ${expected} there, or nothing. Set ${pointerTo(names)} as a whole.`,
  );
