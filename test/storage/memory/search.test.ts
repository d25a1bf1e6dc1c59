import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '../../../src/storage/database/database.js';
import { migrate } from '../../../src/storage/database/migrate.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { searchKeys } from '../../../src/storage/memory/search.js';
import { createEngineDatabase, describeEachDatabase, type TestDatabase } from '../../harness/database.js';

/** Searches in a space of more documents than are looked at for common words. */

const DOCUMENTS = 11_000;
/** The first document is the one that was changed last. The word `old` is in the last thousand, `never` is only beside `odd`. */
const FILL = `insert into holdfast.memory_documents
    (space, owner, key, scope, version, value, labels, document, words, changed_at)
  select 's', owner, 'k' || lpad(n::text, 5, '0'), 'tenant', 1, '{}', '[]', '', w, now() - (n * interval '1 second')
    from generate_series(1, ?::int) n
   cross join lateral (select concat_ws(' ', 'everyone', case when n % 2 = 0 then 'even' else 'odd' end,
       case when n > ?::int - 1000 then 'old' end, case when n % 5000 = 7 then 'rare it''s a\\b' end,
       case when n = 9 then 'everyone everyone' end)) made (w)
   cross join (values (''), ('other')) owners (owner)`;

describeEachDatabase('a search in a large space', (kind) => {
  let place: TestDatabase;
  let database: Database;
  beforeAll(async () => {
    place = await createEngineDatabase(kind);
    database = await openDatabase(place.options);
    await migrate(database.knex);
    await database.knex.raw(FILL, [DOCUMENTS, DOCUMENTS]);
    await database.knex.raw('analyze holdfast.memory_documents');
  }, 60_000);
  afterAll(async () => {
    await database.close();
    await place.drop();
  });

  const keys = async (query: string, match: 'all' | 'any' = 'all', limit = 4) => {
    const part = { tenant: 'default', space: 's', owner: '' };
    return (await searchKeys(database.knex, part, { query, match, limit })).keys.map((key) => Number(key.slice(1)));
  };
  const olderLeft = async (query: string, owner = '') =>
    (await searchKeys(database.knex, { tenant: 'default', space: 's', owner }, { query, match: 'all', limit: 4 }))
      .olderLeft;

  test('finds rare words wherever they are, also beside common ones', async () => {
    expect(await keys('rare')).toEqual([7, 5007, 10_007]);
    expect(await keys('rare everyone')).toEqual([7, 5007, 10_007]);
    expect(await keys('"everyone odd" rare -even')).toEqual([7, 5007, 10_007]);
    expect(await keys("it's rare")).toEqual([7, 5007, 10_007]);
    expect(await keys('rare', 'any')).toEqual([7, 5007, 10_007]);
    expect((await keys('rare or even', 'all', 50)).slice(0, 3)).toEqual([2, 4, 6]);
    expect(await keys('rare or (even even)', 'all', 50)).toHaveLength(50);
  });

  test('ranks the latest matches of common words, and ends', async () => {
    expect(await keys('everyone')).toEqual([9, 1, 2, 3]);
    expect(await keys('even odd')).toEqual([]);
    expect(await keys('-even')).toEqual([1, 3, 5, 7]);
    expect(await keys('nowhere')).toEqual([]);
    // All its matches are older than those that are looked at.
    expect(await keys('old')).toEqual([]);
    expect(await keys('old rare')).toEqual([10_007]);
  });

  test('says whether older documents were not looked at', async () => {
    // All documents with a rare word are looked at, however old they are.
    for (const query of ['rare', 'rare everyone', 'nowhere', '!!!']) expect(await olderLeft(query), query).toBe(false);
    for (const query of ['everyone', 'old', '-even', 'rare or even']) expect(await olderLeft(query), query).toBe(true);
    expect(await olderLeft('everyone', 'nobody')).toBe(false);
  });

  test('gives the same documents in the same order again', async () => {
    for (const query of ['everyone', 'rare or even', 'even -rare'])
      expect(await keys(query, 'all', 50)).toEqual(await keys(query, 'all', 50));
  });
});
