import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  consistencyRecipe,
  EMPTY_ROOT,
  inclusionRecipe,
  leafHash,
  type Recipe,
  rootRecipe,
  TreeEdge,
  verifyConsistency,
  verifyInclusion,
} from '../../../src/core/evidence/merkle.js';

const hashes = z.array(z.string());
const vectors = z
  .object({
    leaves: hashes,
    inclusion: z.array(
      z.object({ leafIdx: z.int(), treeSize: z.int(), root: z.string(), leafHash: z.string(), proof: hashes }),
    ),
    consistency: z.array(
      z.object({ size1: z.int(), size2: z.int(), root1: z.string(), root2: z.string(), proof: hashes }),
    ),
  })
  .parse(JSON.parse(readFileSync(join(import.meta.dirname, '../../vectors/merkle.json'), 'utf8')));

const hex = (base64: string): string => Buffer.from(base64, 'base64').toString('hex');

/** The tree as RFC 9162 defines it, by recursion over all leaves and with nothing kept. */
function naiveRoot(leaves: readonly string[]): string {
  if (leaves.length === 0) return createHash('sha256').digest('hex');
  if (leaves.length === 1) return leaves[0] ?? '';
  const split = 2 ** Math.ceil(Math.log2(leaves.length) - 1);
  const [left, right] = [naiveRoot(leaves.slice(0, split)), naiveRoot(leaves.slice(split))];
  return createHash('sha256')
    .update(Buffer.from(`01${left}${right}`, 'hex'))
    .digest('hex');
}

/** A tree that grew leaf by leaf, and what is read of it. */
function grown(leaves: readonly string[]) {
  const edge = new TreeEdge();
  const ending = leaves.map((leaf) => edge.append(leaf));
  const read = <T>(recipe: Recipe<T>): T =>
    recipe.make(recipe.nodes.map(({ level, position }) => ending[(position + 1) * 2 ** level - 1]?.[level] ?? 'none'));
  return { edge, read };
}

const KNOWN = vectors.leaves.map((data) => leafHash(Buffer.from(data, 'hex')));

describe('the Merkle tree', () => {
  it('has the published roots', () => {
    expect(EMPTY_ROOT).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    expect(KNOWN[0]).toBe('6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d');
    const root = (size: number): string => grown(KNOWN).read(rootRecipe(size));
    expect(root(8)).toBe('5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328');
    for (const { size1, size2, root1, root2 } of vectors.consistency)
      expect([root(size1), root(size2)]).toEqual([hex(root1), hex(root2)]);
  });

  it.each(vectors.inclusion)('makes and accepts the published proof of leaf $leafIdx of $treeSize', (vector) => {
    const { leafIdx: index, treeSize: size } = vector;
    const proof = vector.proof.map(hex);
    expect(grown(KNOWN).read(inclusionRecipe(index, size))).toEqual(proof);
    const said = { index, size, leaf: hex(vector.leafHash), root: hex(vector.root) };
    expect(verifyInclusion(proof, said)).toBe(true);
    // What the published vectors that must fail do to these.
    for (const wrong of [index ^ 2, index + 1, size, -1])
      expect(verifyInclusion(proof, { ...said, index: wrong })).toBe(false);
    for (const wrong of [size * 2, Math.floor(size / 2)])
      expect(verifyInclusion(proof, { ...said, size: wrong })).toBe(false);
    expect(verifyInclusion(proof, { ...said, root: leafHash('wrong') })).toBe(false);
    for (const wrong of [[], [...proof, said.root], [said.root, ...proof], [...proof, ''], proof.slice(1)])
      expect(verifyInclusion(wrong, said)).toBe(false);
  });

  it.each(vectors.consistency)('makes and accepts the published proof from $size1 to $size2', (vector) => {
    const { size1: earlier, size2: size } = vector;
    const proof = vector.proof.map(hex);
    expect(grown(KNOWN).read(consistencyRecipe(earlier, size))).toEqual(proof);
    const said = { earlier, size, earlierRoot: hex(vector.root1), root: hex(vector.root2) };
    expect(verifyConsistency(proof, said)).toBe(true);
    for (const wrong of [earlier - 1, earlier + 1, earlier ^ 2])
      expect(verifyConsistency(proof, { ...said, earlier: wrong })).toBe(false);
    for (const wrong of [size * 2, Math.floor(size / 2)])
      expect(verifyConsistency(proof, { ...said, size: wrong })).toBe(false);
    expect(verifyConsistency(proof, { ...said, earlierRoot: said.root, root: said.earlierRoot })).toBe(false);
    for (const wrong of [[], [...proof, said.root], [said.earlierRoot, ...proof], [...proof, ''], proof.slice(0, -1)])
      expect(verifyConsistency(wrong, said)).toBe(false);
  });

  it('refuses an empty tree as the earlier one, and says that a tree is consistent with itself', () => {
    const root = grown(KNOWN).read(rootRecipe(8));
    expect(verifyConsistency([], { earlier: 0, earlierRoot: EMPTY_ROOT, size: 8, root })).toBe(false);
    expect(verifyConsistency([], { earlier: 8, earlierRoot: root, size: 8, root })).toBe(true);
    expect(verifyConsistency([root], { earlier: 8, earlierRoot: root, size: 8, root })).toBe(false);
  });

  const someLeaves = fc
    .array(fc.uint8Array({ maxLength: 8 }), { minLength: 1, maxLength: 130 })
    .map((all) => all.map((data) => leafHash(data)));

  it('has the root of the definition at every size, and goes on from its edge', () => {
    fc.assert(
      fc.property(someLeaves, fc.nat(), (leaves, at) => {
        const { edge, read } = grown(leaves);
        expect(edge.root).toBe(naiveRoot(leaves));
        const size = at % (leaves.length + 1);
        const recipe = rootRecipe(size);
        expect(read(recipe)).toBe(naiveRoot(leaves.slice(0, size)));
        const later = new TreeEdge(
          size,
          recipe.nodes.map((node) => read({ nodes: [node], make: ([hash]) => hash ?? '' })),
        );
        for (const leaf of leaves.slice(size)) later.append(leaf);
        expect(later.root).toBe(edge.root);
      }),
    );
  });

  it('proves every leaf and every earlier size, and nothing that was tampered with', () => {
    fc.assert(
      fc.property(someLeaves, fc.nat(), fc.nat(), fc.nat(), (leaves, a, b, c) => {
        const { read } = grown(leaves);
        const size = 1 + (a % leaves.length);
        const [index, earlier] = [b % size, 1 + (b % size)];
        const root = naiveRoot(leaves.slice(0, size));
        const included = { index, size, leaf: leaves[index] ?? '', root };
        const inclusion = read(inclusionRecipe(index, size));
        expect(verifyInclusion(inclusion, included)).toBe(true);
        const consistent = { earlier, earlierRoot: naiveRoot(leaves.slice(0, earlier)), size, root };
        const consistency = read(consistencyRecipe(earlier, size));
        expect(verifyConsistency(consistency, consistent)).toBe(true);

        const wrong = leafHash('another');
        expect(verifyInclusion(inclusion, { ...included, leaf: wrong })).toBe(false);
        expect(verifyInclusion(inclusion, { ...included, root: wrong })).toBe(false);
        expect(verifyConsistency(consistency, { ...consistent, earlierRoot: wrong })).toBe(false);
        expect(verifyConsistency(consistency, { ...consistent, root: wrong })).toBe(false);
        if (inclusion.length > 0)
          expect(verifyInclusion(inclusion.with(c % inclusion.length, wrong), included)).toBe(false);
        if (consistency.length > 0)
          expect(verifyConsistency(consistency.with(c % consistency.length, wrong), consistent)).toBe(false);
      }),
    );
  });
});
