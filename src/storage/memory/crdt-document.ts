import type { Frontiers, LoroDoc } from 'loro-crdt';
import type { JsonObject, JsonValue } from '../../core/json.js';
import { loadPackage, MEMORY_PACKAGE } from '../../core/optional-package.js';
import { namesOf, type StateOp } from '../../core/tools/agent-state.js';
import { changeDocument, itemOf, LEAVES, type Leaf, listPath, sumName } from './crdt-change.js';

let library: Promise<typeof import('loro-crdt')> | null = null;

/** The library takes some time to load, and most processes have no memory. Throws `package_missing`. */
export const loadMemoryLibrary = (): Promise<typeof import('loro-crdt')> => {
  library ??= loadPackage('Memory needs', MEMORY_PACKAGE, () => import('loro-crdt'));
  return library;
};

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
    const { LoroDoc } = await loadMemoryLibrary();
    return new CrdtDocument(new LoroDoc());
  }

  static async load(bytes: Uint8Array): Promise<CrdtDocument> {
    const { LoroDoc } = await loadMemoryLibrary();
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
    const found: Place[] = [];
    const add = (path: string, value: JsonValue): void => {
      found.push({ names: namesOf(path), value });
    };
    const sumOf = (path: string): number => Number(others[sumName(path)] ?? 0);
    for (const [path, leaf] of Object.entries(leaves as { [path: string]: Leaf })) {
      if (leaf[0] === 'n') add(path, leaf[1] + (sumOf(path) - leaf[2]));
      else add(path, leaf[0] === 'l' ? [] : leaf[1]);
    }
    for (const [name, items] of Object.entries(others)) {
      const path = listPath(name);
      if (path !== null && Array.isArray(items) && items.length > 0) add(path, items.map(itemOf));
    }
    const root: Branch = new Map();
    // A path that goes on comes after the one that it goes on from, and takes its place.
    for (const { names, value } of found.sort(byNames)) put(root, names, value);
    return plainOf(root);
  }

  /** What it was in the state that a change is made for. */
  valueAt(at: string): JsonObject {
    const aside = new CrdtDocument(this.#doc.forkAt(JSON.parse(at) as Frontiers));
    const { value } = aside;
    aside.free();
    return value;
  }

  /** `at`: the state that the changes were made for; null: the present one. The number of the change names its writer. */
  change(ops: readonly StateOp[], version: number, at: string | null): void {
    if (at === null || at === this.frontiers) {
      const [last, ...more] = this.#doc.frontiers();
      // One writer goes on where there is one line: each further one makes the document longer.
      this.#doc.setPeerId(last === undefined || more.length > 0 ? (String(version) as `${number}`) : last.peer);
      changeDocument(this.#doc, ops);
      return;
    }
    const aside = this.#doc.forkAt(JSON.parse(at) as Frontiers);
    aside.setPeerId(String(version) as `${number}`);
    changeDocument(aside, ops);
    this.#doc.import(aside.export({ mode: 'update', from: this.#doc.oplogVersion() }));
    aside.free();
  }

  /** Gives its memory back, which the collector of garbage does not see. */
  free(): void {
    this.#doc.free();
  }
}

type Branch = Map<string, Branch | { readonly leaf: JsonValue }>;

/** What stands at the names of a path. */
interface Place {
  readonly names: readonly string[];
  readonly value: JsonValue;
}

function byNames({ names: one }: Place, { names: other }: Place): number {
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
