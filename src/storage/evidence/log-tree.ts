import type { Knex } from 'knex';
import { HoldfastError } from '../../core/errors/errors.js';
import type { Recipe } from '../../core/evidence/merkle.js';

/** Reads the hashes of the tree over the log that a proof or a root is made of. Throws `log_broken` where one is missing. */
export async function readTree<T>(db: Knex, recipe: Recipe<T>): Promise<T> {
  const wanted = recipe.nodes.map(({ level, position }) => ({ level, leaf: (position + 1) * 2 ** level - 1 }));
  const rows: { index: string; hashes: string }[] =
    wanted.length === 0
      ? []
      : await db('holdfast.log_entries')
          .whereRaw('index = any(?)', [wanted.map(({ leaf }) => leaf)])
          .select('index', 'hashes');
  const byLeaf = new Map(rows.map(({ index, hashes }) => [Number(index), hashes]));
  return recipe.make(
    wanted.map(({ level, leaf }) => {
      const hash = byLeaf.get(leaf)?.slice(level * 64, level * 64 + 64) ?? '';
      if (hash.length === 64) return hash;
      throw new HoldfastError('log_broken', `The log of all runs has no hash at level ${level} of entry ${leaf}.`, {
        hint: 'Someone has changed the table log_entries: `holdfast verify` says where; see docs/evidence/verify.md.',
      });
    }),
  );
}
