import type { Frontiers, LoroDoc, Value } from 'loro-crdt';
import { isObject, type JsonObject, type JsonValue } from '../../core/json.js';
import { namesOf, pointerTo, type StateOp } from '../../core/tools/agent-state.js';

/** The library takes some time to load, and most processes have no memory. */
let library: Promise<typeof import('loro-crdt')> | null = null;
const loro = (): Promise<typeof import('loro-crdt')> => {
  library ??= import('loro-crdt');
  return library;
};

/**
 * What stands at a path that ends: a value, a number with the sum of additions that it includes, or an empty list. Members are kept by their
 * whole path, so that two writers who make the same object at once make one object.
 */
type Leaf = readonly ['v', JsonValue] | readonly ['n', number, number] | readonly ['l'];

const LEAVES = 'leaves';
/** Names of parts of the document must not contain a slash. */
const listName = (path: string): string => `list ${encodeURIComponent(path)}`;
const sumName = (path: string): string => `sum ${encodeURIComponent(path)}`;
const LIST = /^list (.*)$/;

/** One change of a document, as it is kept. */
export interface KeptChange {
  readonly version: number;
  /** The version that it was made for. */
  readonly base: number;
  readonly ops: readonly StateOp[];
}

/** A document of memory: changes that were made for the same version are merged, and none is lost. */
export class CrdtDocument {
  readonly #doc: LoroDoc;

  private constructor(doc: LoroDoc) {
    this.#doc = doc;
  }

  static async empty(): Promise<CrdtDocument> {
    const { LoroDoc } = await loro();
    return new CrdtDocument(new LoroDoc());
  }

  static async load(bytes: Uint8Array): Promise<CrdtDocument> {
    const { LoroDoc } = await loro();
    return new CrdtDocument(LoroDoc.fromSnapshot(bytes));
  }

  /** Makes a document from its changes. `frontiers`: where it stood after each. One that was made for a version that is gone follows the one before. */
  static async from(
    changes: readonly KeptChange[],
  ): Promise<{ readonly document: CrdtDocument; readonly frontiers: ReadonlyMap<number, string> }> {
    const document = await CrdtDocument.empty();
    const frontiers = new Map<number, string>();
    for (const { version, base, ops } of changes) {
      const known = [...frontiers.keys()].findLast((one) => one <= base);
      document.change(ops, version, known === undefined ? null : (frontiers.get(known) ?? null));
      frontiers.set(version, document.frontiers);
    }
    return { document, frontiers };
  }

  /** Where the document stands, for a later change that is made for this state. */
  get frontiers(): string {
    return JSON.stringify(this.#doc.frontiers());
  }

  get bytes(): Buffer {
    return Buffer.from(this.#doc.export({ mode: 'snapshot' }));
  }

  get value(): JsonObject {
    const { [LEAVES]: leaves = {}, ...others } = this.#doc.toJSON() as { [name: string]: unknown };
    const found = new Map<string, JsonValue>();
    for (const [path, leaf] of Object.entries(leaves as { [path: string]: Leaf }))
      found.set(path, this.#valueOf(path, leaf));
    for (const [name, items] of Object.entries(others)) {
      const path = LIST.exec(name)?.[1];
      if (path !== undefined && Array.isArray(items) && items.length > 0) found.set(decodeURIComponent(path), items);
    }
    const root: Branch = new Map();
    // A path that goes on comes after the one that it goes on from, and takes its place.
    for (const path of [...found.keys()].sort(byNames)) put(root, namesOf(path), found.get(path) ?? null);
    return plainOf(root);
  }

  /** `at`: the state that the changes were made for; null: the present one. The number of the change names its writer. */
  change(ops: readonly StateOp[], version: number, at: string | null): void {
    if (at === null || at === this.frontiers) {
      const [last, ...more] = this.#doc.frontiers();
      // One writer goes on where there is one line: each further one makes the document longer.
      this.#doc.setPeerId(last === undefined || more.length > 0 ? (String(version) as `${number}`) : last.peer);
      write(this.#doc, ops);
      return;
    }
    const aside = this.#doc.forkAt(JSON.parse(at) as Frontiers);
    aside.setPeerId(String(version) as `${number}`);
    write(aside, ops);
    this.#doc.import(aside.export({ mode: 'update', from: this.#doc.oplogVersion() }));
    aside.free();
  }

  /** Gives its memory back, which the collector of garbage does not see. */
  free(): void {
    this.#doc.free();
  }

  #valueOf(path: string, leaf: Leaf): JsonValue {
    if (leaf[0] === 'l') return [];
    return leaf[0] === 'v' ? leaf[1] : leaf[1] + (this.#doc.getCounter(sumName(path)).value - leaf[2]);
  }
}

function write(doc: LoroDoc, ops: readonly StateOp[]): void {
  for (const op of ops) OPS[op.op](doc, op as never);
  doc.commit();
}

const OPS: { readonly [K in StateOp['op']]: (doc: LoroDoc, op: Extract<StateOp, { op: K }>) => void } = {
  set: (doc, { path, value }) => {
    clearAbove(doc, path);
    clear(doc, path, value);
    setAll(doc, path, value);
  },
  remove: (doc, { path }) => {
    clear(doc, path, undefined);
    const above = pointerTo(namesOf(path).slice(0, -1));
    // An object stays when its last member goes.
    if (above !== '' && !hasBelow(doc, above)) doc.getMap(LEAVES).set(above, ['v', {}]);
  },
  add: (doc, { path, by }) => {
    clearAbove(doc, path);
    const leaves = doc.getMap(LEAVES);
    const sum = doc.getCounter(sumName(path));
    if ((leaves.get(path) as Leaf | undefined)?.[0] !== 'n') {
      clear(doc, path, 0);
      leaves.set(path, ['n', 0, sum.value]);
    }
    sum.increment(by);
  },
  append: (doc, { path, values }) => {
    clearAbove(doc, path);
    const list = doc.getList(listName(path));
    clear(doc, path, list.toArray() as JsonValue[]);
    for (const value of values) list.push(value as Value);
  },
};

/** What stands at places above a path has no members: it goes. */
function clearAbove(doc: LoroDoc, path: string): void {
  const names = namesOf(path);
  const leaves = doc.getMap(LEAVES);
  for (let length = 1; length < names.length; length++) {
    const above = pointerTo(names.slice(0, length));
    if (leaves.get(above) !== undefined) leaves.delete(above);
    empty(doc, above, []);
  }
}

/** Removes what stands at a path and below it, but for what stays where the value takes its place. */
function clear(doc: LoroDoc, path: string, value: JsonValue | undefined): void {
  const leaves = doc.getMap(LEAVES);
  for (const [key] of leaves.entries()) if (key === path || key.startsWith(`${path}/`)) leaves.delete(key);
  for (const name of Object.keys(doc.getShallowValue())) {
    const encoded = LIST.exec(name)?.[1];
    const list = encoded === undefined ? undefined : decodeURIComponent(encoded);
    if (list === path) empty(doc, list, Array.isArray(value) ? value : []);
    else if (list?.startsWith(`${path}/`)) empty(doc, list, []);
  }
}

function hasBelow(doc: LoroDoc, path: string): boolean {
  if (
    doc
      .getMap(LEAVES)
      .keys()
      .some((key) => key.startsWith(`${path}/`))
  )
    return true;
  return Object.keys(doc.getShallowValue()).some((name) => {
    const list = decodeURIComponent(LIST.exec(name)?.[1] ?? '');
    return list.startsWith(`${path}/`) && doc.getList(name).length > 0;
  });
}

/** Removes from a list what is not at the beginning or the end of what it is to become. */
function empty(doc: LoroDoc, path: string, next: readonly JsonValue[]): void {
  const list = doc.getList(listName(path));
  if (list.length === 0) return;
  const { head, tail } = same(list.toArray() as JsonValue[], next);
  if (list.length > head + tail) list.delete(head, list.length - head - tail);
}

function same(was: readonly JsonValue[], is: readonly JsonValue[]): { readonly head: number; readonly tail: number } {
  const most = Math.min(was.length, is.length);
  let head = 0;
  while (head < most && isSame(was[head], is[head])) head++;
  let tail = 0;
  while (tail < most - head && isSame(was[was.length - 1 - tail], is[is.length - 1 - tail])) tail++;
  return { head, tail };
}

const isSame = (a: JsonValue | undefined, b: JsonValue | undefined): boolean => JSON.stringify(a) === JSON.stringify(b);

function setAll(doc: LoroDoc, path: string, value: JsonValue): void {
  const leaves = doc.getMap(LEAVES);
  if (Array.isArray(value)) setList(doc, path, value);
  else if (typeof value === 'number') leaves.set(path, ['n', value, doc.getCounter(sumName(path)).value]);
  else if (isObject(value) && Object.keys(value).length > 0)
    for (const [name, member] of Object.entries(value)) setAll(doc, `${path}${pointerTo([name])}`, member);
  else leaves.set(path, ['v', value as Value]);
}

/** What is left in the list are the beginning and the end of the new one. */
function setList(doc: LoroDoc, path: string, value: readonly JsonValue[]): void {
  if (value.length === 0) {
    doc.getMap(LEAVES).set(path, ['l']);
    return;
  }
  const list = doc.getList(listName(path));
  const { head, tail } = same(list.toArray() as JsonValue[], value);
  for (let at = head; at < value.length - tail; at++) list.insert(at, value[at] as Value);
}

type Branch = Map<string, Branch | { readonly leaf: JsonValue }>;

function byNames(a: string, b: string): number {
  const [one, other] = [namesOf(a), namesOf(b)];
  for (let at = 0; at < Math.min(one.length, other.length); at++) {
    const [x = '', y = ''] = [one[at], other[at]];
    if (x !== y) return x < y ? -1 : 1;
  }
  return one.length - other.length;
}

function put(branch: Branch, [name, ...rest]: readonly string[], leaf: JsonValue): void {
  if (name === undefined) return;
  if (rest.length === 0) {
    branch.set(name, { leaf });
    return;
  }
  const held = branch.get(name);
  const next: Branch = held instanceof Map ? held : new Map();
  branch.set(name, next);
  put(next, rest, leaf);
}

const plainOf = (branch: Branch): JsonObject =>
  Object.fromEntries([...branch].map(([name, held]) => [name, held instanceof Map ? plainOf(held) : held.leaf]));
