import { migrate } from '../../../src/storage/database/migrate.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { MEMORY_EVIDENCE } from '../../../src/storage/integrity/proven-memory.js';
import { searchKeys } from '../../../src/storage/memory/search.js';
import { newPlace } from '../place.js';
import type { Row, Values } from '../row.js';

/** Documents of one space, of some forty words each: `everyone` is in all, `quarter` in every fourth, `rare` in ten. */
const DOCUMENTS = `insert into holdfast.memory_documents
    (space, owner, key, scope, version, value, labels, document, words, changed_at, id)
  select 'bench', '', 'k' || n, 'tenant', 1, '{"text":"' || w || '"}', '[]', decode(repeat(md5(n::text), 20), 'hex'), w,
         now() - (n * interval '1 second'), null
    from (select n, concat_ws(' ', 'k' || n, 'everyone', case when n % 4 = 0 then 'quarter' end,
                   case when n % 2 = 0 then 'even' else 'odd' end, case when n % 10000 = 7 then 'rare' end,
                   (select string_agg('w' || ((n * 31 + i * i * 17) % 5000), ' ') from generate_series(1, 30) i)) as w
            from generate_series(1, ?::int) n) made`;
const SIZES = { quick: 10_000, full: 100_000 } as const;
const TIMES = 60;

const QUERIES: { readonly [side: string]: string } = {
  rare: 'rare',
  'in every fourth': 'quarter',
  'in all': 'everyone',
  'a rare and a common one': 'rare everyone',
  'two that never meet': 'even odd',
};

/** How long a search takes in memory, by how often its words are in the documents. */
export const RECALL: Row = {
  name: 'recall',
  title: 'a search in a space of 100,000 documents for a rare word, against common ones',
  needsPostgres: true,
  sides: Object.keys(QUERIES),
  measure: async (side, scale): Promise<Values> => {
    const place = await newPlace('postgres');
    const database = await openDatabase(place);
    const { knex } = database;
    try {
      await migrate(knex);
      await knex.raw(DOCUMENTS, [SIZES[scale]]);
      await knex.raw('vacuum analyze holdfast.memory_documents');
      const part = { tenant: 'default', space: 'bench', owner: '' };
      const search = { query: QUERIES[side] ?? 'rare', match: 'all', limit: 10 } as const;
      const took: number[] = [];
      for (let n = 0; n < TIMES; n++) {
        const begin = performance.now();
        await MEMORY_EVIDENCE.proven(knex, part, (await searchKeys(knex, part, search)).keys);
        took.push(performance.now() - begin);
      }
      took.sort((a, b) => a - b);
      const at = (share: number): number => took[Math.floor(TIMES * share)] ?? 0;
      return { p50: { value: at(0.5), unit: 'ms' }, p95: { value: at(0.95), unit: 'ms' } };
    } finally {
      await database.close();
    }
  },
};
