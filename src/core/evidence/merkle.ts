import { hash } from 'node:crypto';

/**
 * The Merkle tree of RFC 9162 (section 2.1) over SHA-256. Hashes are 64 hex digits. A tree of `size` leaves has a root; a proof of
 * inclusion leads from a leaf to it, a proof of consistency from an earlier root.
 */

const sha256 = (...parts: readonly Buffer[]): string => hash('sha256', Buffer.concat(parts), 'hex');
const LEAF = Buffer.of(0);
const NODE = Buffer.of(1);

export const EMPTY_ROOT = sha256();
export const leafHash = (data: string | Uint8Array): string =>
  sha256(LEAF, typeof data === 'string' ? Buffer.from(data, 'utf8') : Buffer.from(data));
const nodeHash = (left: string, right: string): string =>
  sha256(NODE, Buffer.from(left, 'hex'), Buffer.from(right, 'hex'));

/** A full subtree: its leaves are `position * 2^level` and the `2^level - 1` that follow. */
export interface TreeNode {
  readonly level: number;
  readonly position: number;
}

/** Leaves from `start` up to `end`, without it, that have a common node above them. */
type Range = readonly [start: number, end: number];

/** The greatest power of two below `size`, which is at least 2: where a tree is split. */
function splitOf(size: number): number {
  let power = 1;
  while (power * 2 < size) power *= 2;
  return power;
}

/** The full subtrees that a range consists of, from the left. */
function nodesOf([start, end]: Range): TreeNode[] {
  const nodes: TreeNode[] = [];
  for (let from = start; from < end; ) {
    let [width, level] = [1, 0];
    while (width * 2 <= end - from) {
      width *= 2;
      level += 1;
    }
    nodes.push({ level, position: from / width });
    from += width;
  }
  return nodes;
}

/** The hash above full subtrees that are given from the left. */
const foldUp = (hashes: readonly string[]): string => hashes.reduceRight((right, left) => nodeHash(left, right));

function inclusionRanges(index: number, [start, end]: Range): Range[] {
  if (end - start <= 1) return [];
  const middle = start + splitOf(end - start);
  return index < middle
    ? [...inclusionRanges(index, [start, middle]), [middle, end]]
    : [...inclusionRanges(index, [middle, end]), [start, middle]];
}

/** `known`: the verifier has the hash of the range, because it is the whole earlier tree. */
function consistencyRanges(earlier: number, [start, end]: Range, known: boolean): Range[] {
  if (earlier === end) return known ? [] : [[start, end]];
  const middle = start + splitOf(end - start);
  return earlier <= middle
    ? [...consistencyRanges(earlier, [start, middle], known), [middle, end]]
    : [...consistencyRanges(earlier, [middle, end], false), [start, middle]];
}

/** What is read of a tree for a proof or a root, and how the hashes make it. */
export interface Recipe<T> {
  readonly nodes: readonly TreeNode[];
  /** Takes the hashes of `nodes`, in their order. */
  make(hashes: readonly string[]): T;
}

function rangesRecipe(ranges: readonly Range[]): Recipe<readonly string[]> {
  const parts = ranges.map(nodesOf);
  return {
    nodes: parts.flat(),
    make(hashes) {
      let from = 0;
      return parts.map(({ length }) => {
        from += length;
        return foldUp(hashes.slice(from - length, from));
      });
    },
  };
}

export function rootRecipe(size: number): Recipe<string> {
  if (size === 0) return { nodes: [], make: () => EMPTY_ROOT };
  return { nodes: nodesOf([0, size]), make: foldUp };
}

/** Several recipes as one, so that what they are made of is read together. */
export const inOneRecipe = <T>(recipes: readonly Recipe<T>[]): Recipe<readonly T[]> => ({
  nodes: recipes.flatMap(({ nodes }) => nodes),
  make(hashes) {
    let from = 0;
    return recipes.map(({ nodes, make }) => {
      from += nodes.length;
      return make(hashes.slice(from - nodes.length, from));
    });
  },
});

/** The proof that leaf `index` is in the tree of `size` leaves, `index` below `size`. */
export const inclusionRecipe = (index: number, size: number) => rangesRecipe(inclusionRanges(index, [0, size]));

/** The proof that the tree of `size` leaves begins with that of `earlier` leaves, from 1 up to `size`. */
export const consistencyRecipe = (earlier: number, size: number) =>
  rangesRecipe(consistencyRanges(earlier, [0, size], true));

/**
 * The right edge of a tree that grows. Of each leaf it tells the hashes of the full subtrees that end with it, the leaf itself
 * first: node (`level`, `position`) of the tree is hash `level` of leaf `(position + 1) * 2^level - 1`.
 */
export class TreeEdge {
  #size: number;
  /** Hashes of the full subtrees, the greatest first. */
  readonly #edge: string[];

  constructor(size = 0, edge: readonly string[] = []) {
    this.#size = size;
    this.#edge = [...edge];
  }

  get size(): number {
    return this.#size;
  }

  copy(): TreeEdge {
    return new TreeEdge(this.#size, this.#edge);
  }

  get root(): string {
    return this.#size === 0 ? EMPTY_ROOT : foldUp(this.#edge);
  }

  append(leaf: string): readonly string[] {
    const ending = [leaf];
    let top = leaf;
    for (let rest = this.#size; rest % 2 === 1; rest = Math.floor(rest / 2)) {
      top = nodeHash(this.#edge.pop() ?? '', top);
      ending.push(top);
    }
    this.#edge.push(top);
    this.#size += 1;
    return ending;
  }
}

/** RFC 9162, 2.1.3.2. */
export function verifyInclusion(
  proof: readonly string[],
  { index, size, leaf, root }: { index: number; size: number; leaf: string; root: string },
): boolean {
  if (!(Number.isSafeInteger(index) && Number.isSafeInteger(size) && index >= 0 && index < size)) return false;
  const walk = new Walk(index, size - 1);
  let made = leaf;
  for (const hash of proof) {
    const side = walk.up();
    if (side === 'none') return false;
    made = side === 'left' ? nodeHash(hash, made) : nodeHash(made, hash);
  }
  return walk.isAtTop && made === root;
}

/** RFC 9162, 2.1.4.2. That an empty tree comes before every other proves nothing, and is refused. */
export function verifyConsistency(
  proof: readonly string[],
  { earlier, earlierRoot, size, root }: { earlier: number; earlierRoot: string; size: number; root: string },
): boolean {
  if (!(Number.isSafeInteger(earlier) && Number.isSafeInteger(size) && earlier > 0 && earlier <= size)) return false;
  if (earlier === size) return proof.length === 0 && earlierRoot === root;
  const walk = new Walk(earlier - 1, size - 1);
  walk.skipRightChildren();
  // The earlier tree is full: its root is the first hash, and is not sent.
  const [first, ...rest] = walk.isAtLeft ? [earlierRoot, ...proof] : proof;
  if (first === undefined || proof.length === 0) return false;
  let [before, after] = [first, first];
  for (const hash of rest) {
    const side = walk.up();
    if (side === 'none') return false;
    if (side === 'left') before = nodeHash(hash, before);
    after = side === 'left' ? nodeHash(hash, after) : nodeHash(after, hash);
  }
  return walk.isAtTop && before === earlierRoot && after === root;
}

/** The way from a node to the root, beside the right edge of the tree. */
class Walk {
  #node: number;
  #edge: number;

  constructor(node: number, edge: number) {
    this.#node = node;
    this.#edge = edge;
  }

  get isAtTop(): boolean {
    return this.#edge === 0;
  }

  get isAtLeft(): boolean {
    return this.#node === 0;
  }

  skipRightChildren(): void {
    while (this.#node % 2 === 1) this.#rise();
  }

  /** On which side the next hash of a proof stands. */
  up(): 'left' | 'right' | 'none' {
    if (this.#edge === 0) return 'none';
    const isLeft = this.#node % 2 === 1 || this.#node === this.#edge;
    if (isLeft) while (this.#node % 2 === 0 && this.#node !== 0) this.#rise();
    this.#rise();
    return isLeft ? 'left' : 'right';
  }

  #rise(): void {
    this.#node = Math.floor(this.#node / 2);
    this.#edge = Math.floor(this.#edge / 2);
  }
}
