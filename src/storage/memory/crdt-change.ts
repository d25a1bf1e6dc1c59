import type { LoroDoc, Value } from 'loro-crdt';
import { isObject, type JsonValue } from '../../core/json.js';
import { namesOf, pointerTo, type StateOp } from '../../core/tools/agent-state.js';

/**
 * What stands at a path that ends: a value, a number with the sum of additions that it includes, or an empty list. Members are kept by their
 * whole path, so that two writers who make the same object at once make one object.
 */
export type Leaf = readonly ['v', JsonValue] | readonly ['n', number, number] | readonly ['l'];

export const LEAVES = 'leaves';
/** Names of parts of the document must not contain a slash. */
const listName = (path: string): string => `list ${encodeURIComponent(path)}`;
export const sumName = (path: string): string => `sum ${encodeURIComponent(path)}`;
const NAMED = /^(list|sum) (.*)$/;

function pathIn(kind: 'list' | 'sum', name: string): string | null {
  const [, found, path = ''] = NAMED.exec(name) ?? [];
  return found === kind ? decodeURIComponent(path) : null;
}
/** The path of the list with a name; null: the name is that of another part. */
export const listPath = (name: string): string | null => pathIn('list', name);
const sumPath = (name: string): string | null => pathIn('sum', name);

/** The library reads a member called `__proto__` as the prototype of its object, so an item with one is kept as a text of JSON. */
const AS_TEXT = 'holdfast:json';

/** An item of a list, as the library keeps it. */
function keptItem(item: JsonValue): JsonValue {
  const text = typeof item === 'object' ? JSON.stringify(item) : '';
  return text.includes('"__proto__"') || text.includes(AS_TEXT) ? { [AS_TEXT]: text } : item;
}

/** The item of a list that is kept so. */
export function itemOf(kept: JsonValue): JsonValue {
  const text = isObject(kept) ? kept[AS_TEXT] : undefined;
  return typeof text === 'string' ? JSON.parse(text) : kept;
}

/** Makes changes in a document of the library, and commits them. */
export function changeDocument(doc: LoroDoc, ops: readonly StateOp[]): void {
  const draft = new Draft(doc);
  for (const op of ops) OPS[op.op](draft, op as never);
  doc.commit();
}

/** A document that is changed, with an index of what is there: the library takes long to list them, and a change has many operations. */
class Draft {
  readonly #doc: LoroDoc;
  readonly #leaves: Map<string, Leaf>;
  readonly #lists = new Set<string>();
  readonly #sums = new Set<string>();

  constructor(doc: LoroDoc) {
    this.#doc = doc;
    this.#leaves = new Map(doc.getMap(LEAVES).entries() as [string, unknown][] as [string, Leaf][]);
    for (const name of Object.keys(doc.getShallowValue())) {
      const [list, sum] = [listPath(name), sumPath(name)];
      if (list !== null) this.#lists.add(list);
      if (sum !== null) this.#sums.add(sum);
    }
  }

  leaf(path: string): Leaf | undefined {
    return this.#leaves.get(path);
  }

  setLeaf(path: string, leaf: Leaf): void {
    this.#leaves.set(path, leaf);
    this.#doc.getMap(LEAVES).set(path, leaf as unknown as Value);
  }

  sum(path: string): number {
    return this.#sums.has(path) ? this.#doc.getCounter(sumName(path)).value : 0;
  }

  increment(path: string, by: number): void {
    this.#sums.add(path);
    this.#doc.getCounter(sumName(path)).increment(by);
  }

  items(path: string): readonly JsonValue[] {
    return this.#lists.has(path) ? (this.#doc.getList(listName(path)).toArray() as JsonValue[]) : [];
  }

  insert(path: string, at: number, item: JsonValue): void {
    this.#lists.add(path);
    this.#doc.getList(listName(path)).insert(at, item as Value);
  }

  /** Removes from a list what is not at the beginning or the end of what it is to become. */
  empty(path: string, next: readonly JsonValue[]): void {
    const was = this.items(path);
    if (was.length === 0) return;
    const { head, tail } = same(was, next);
    if (was.length > head + tail) this.#doc.getList(listName(path)).delete(head, was.length - head - tail);
  }

  /** Removes what stands at a path and below it, but for what stays of a list where another one takes its place. */
  clear(path: string, next: readonly JsonValue[]): void {
    const below = `${path}/`;
    for (const key of [...this.#leaves.keys()]) if (key === path || key.startsWith(below)) this.#remove(key);
    for (const list of this.#lists) {
      if (list === path) this.empty(list, next);
      else if (list.startsWith(below)) this.empty(list, []);
    }
  }

  /** What stands at places above a path has no members: it goes. */
  clearAbove(path: string): void {
    const names = namesOf(path);
    for (let length = 1; length < names.length; length++) {
      const above = pointerTo(names.slice(0, length));
      if (this.#leaves.has(above)) this.#remove(above);
      this.empty(above, []);
    }
  }

  hasBelow(path: string): boolean {
    const below = `${path}/`;
    for (const key of this.#leaves.keys()) if (key.startsWith(below)) return true;
    for (const list of this.#lists) if (list.startsWith(below) && this.items(list).length > 0) return true;
    return false;
  }

  #remove(path: string): void {
    this.#leaves.delete(path);
    this.#doc.getMap(LEAVES).delete(path);
  }
}

const OPS: { readonly [K in StateOp['op']]: (draft: Draft, op: Extract<StateOp, { op: K }>) => void } = {
  set: (draft, { path, value }) => {
    draft.clearAbove(path);
    draft.clear(path, Array.isArray(value) ? value.map(keptItem) : []);
    setAll(draft, path, value);
  },
  remove: (draft, { path }) => {
    draft.clear(path, []);
    const above = pointerTo(namesOf(path).slice(0, -1));
    // An object stays when its last member goes.
    if (above !== '' && !draft.hasBelow(above)) draft.setLeaf(above, ['v', {}]);
  },
  add: (draft, { path, by }) => {
    draft.clearAbove(path);
    if (draft.leaf(path)?.[0] !== 'n') {
      draft.clear(path, []);
      draft.setLeaf(path, ['n', 0, draft.sum(path)]);
    }
    draft.increment(path, by);
  },
  append: (draft, { path, values }) => {
    draft.clearAbove(path);
    const there = draft.items(path);
    draft.clear(path, there);
    for (const [at, value] of values.entries()) draft.insert(path, there.length + at, keptItem(value));
  },
};

function same(was: readonly JsonValue[], is: readonly JsonValue[]): { readonly head: number; readonly tail: number } {
  const most = Math.min(was.length, is.length);
  let head = 0;
  while (head < most && isSame(was[head], is[head])) head++;
  let tail = 0;
  while (tail < most - head && isSame(was[was.length - 1 - tail], is[is.length - 1 - tail])) tail++;
  return { head, tail };
}

const isSame = (a: JsonValue | undefined, b: JsonValue | undefined): boolean => JSON.stringify(a) === JSON.stringify(b);

function setAll(draft: Draft, path: string, value: JsonValue): void {
  if (Array.isArray(value)) setList(draft, path, value.map(keptItem));
  else if (typeof value === 'number') draft.setLeaf(path, ['n', value, draft.sum(path)]);
  else if (isObject(value) && Object.keys(value).length > 0)
    for (const [name, member] of Object.entries(value)) setAll(draft, `${path}${pointerTo([name])}`, member);
  else draft.setLeaf(path, ['v', value]);
}

/** What is left in the list are the beginning and the end of the new one. */
function setList(draft: Draft, path: string, items: readonly JsonValue[]): void {
  if (items.length === 0) {
    draft.setLeaf(path, ['l']);
    return;
  }
  const { head, tail } = same(draft.items(path), items);
  for (const [at, item] of items.slice(head, items.length - tail).entries()) draft.insert(path, head + at, item);
}
