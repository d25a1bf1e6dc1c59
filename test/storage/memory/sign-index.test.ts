import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { bytesOfVector, signsOf, vectorOf } from '../../../src/core/memory/vectors.js';
import type { Database } from '../../../src/storage/database/database.js';
import { migrate } from '../../../src/storage/database/migrate.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { SignIndex } from '../../../src/storage/memory/sign-index.js';
import { nearestDocuments } from '../../../src/storage/memory/vectors.js';
import { createEngineDatabase, describeEachDatabase, type TestDatabase } from '../../harness/database.js';

const EMBEDDING = { model: 'lab/small', dimensions: 64 };
const SPACE = { tenant: 'default', space: 's', owner: '' };
const DOCUMENTS = 1_200;
const LEAST = 1_000;

/** A copy of the signs of a space finds what the database finds, whatever others write meanwhile. */
describeEachDatabase('signs of a space in memory', (kind) => {
  let place: TestDatabase;
  let database: Database;
  beforeAll(async () => {
    place = await createEngineDatabase(kind);
    database = await openDatabase(place.options);
    await migrate(database.knex);
  }, 60_000);
  beforeEach(async () => {
    await database.knex('holdfast.memory_documents').delete();
  });
  afterAll(async () => {
    await database.close();
    await place.drop();
  });

  const vectorOfKey = (key: string): Float32Array => {
    const bytes = createHash('sha512').update(key).digest();
    return (
      vectorOf(
        [...bytes].map((byte) => byte - 127.5),
        64,
      ) ?? new Float32Array(64)
    );
  };
  /** Documents of all numbers from one on, with vectors that their keys give. */
  const fill = async (from: number, to: number): Promise<void> => {
    const keys = Array.from({ length: to - from + 1 }, (_, at) => `k${from + at}`);
    const vectors = keys.map(vectorOfKey);
    const some = 'unnest(:keys::text[]) k (key)';
    await database.knex.raw(
      `insert into holdfast.memory_documents (space, owner, key, scope, version, value, labels, document, words)
         select 's', '', key, 'tenant', 1, '{}', '[]', '', '' from ${some}`,
      { keys },
    );
    await database.knex.raw(
      `insert into holdfast.memory_embeddings (space, owner, key, model, dimensions, signs)
         select 's', '', key, 'lab/small', 64, signs::bit varying from unnest(:keys::text[], :signs::text[]) k (key, signs)`,
      { keys, signs: vectors.map(signsOf) },
    );
    await database.knex.raw(
      `insert into holdfast.memory_vectors (space, owner, key, vector)
         select 's', '', key, decode(vector, 'hex') from unnest(:keys::text[], :vectors::text[]) k (key, vector)`,
      { keys, vectors: vectors.map((one) => bytesOfVector(one).toString('hex')) },
    );
  };
  const asked = (n: number) =>
    vectorOf(
      Array.from({ length: 64 }, (_, at) => Math.sin(n * 7 + at)),
      64,
    ) ?? new Float32Array(64);
  const by = (signs: SignIndex, n = 1) =>
    nearestDocuments({ db: database.knex, signs }, SPACE, EMBEDDING, { vector: asked(n), limit: 20 });
  const inDatabase = (n = 1) => by(new SignIndex(), n);

  test('are read at the second search of a large space, and never of a small one', async () => {
    await fill(1, 100);
    const index = new SignIndex({ least: LEAST });
    for (let time = 0; time < 3; time++) expect(await by(index)).toEqual(await inDatabase());
    expect(index.size).toBe(0);
    await fill(101, DOCUMENTS);
    const sizes: number[] = [];
    for (let time = 0; time < 3; time++) {
      expect(await by(index, time)).toEqual(await inDatabase(time));
      sizes.push(index.size);
    }
    expect(sizes).toEqual([0, 1, 1]);
  });

  test('follow what others write, remove and forget', async () => {
    await fill(1, DOCUMENTS);
    const index = new SignIndex({ least: LEAST });
    for (let time = 0; time < 2; time++) await by(index);
    for (let n = 0; n < 6; n++) {
      const [first, second, third] = (await by(index, n)).near;
      await database.knex('holdfast.memory_documents').where({ key: first?.key }).delete();
      await database.knex.raw(
        `update holdfast.memory_embeddings set model = null, dimensions = null, signs = null, changed_in = default where key = ?`,
        [second?.key ?? ''],
      );
      await database
        .knex('holdfast.memory_documents')
        .where({ key: third?.key })
        .update({ expires_at: new Date(0) });
      await fill(DOCUMENTS + 1 + n * 10, DOCUMENTS + 10 + n * 10);
      const found = await by(index, n);
      expect(found).toEqual(await inDatabase(n));
      const keys = found.near.map(({ key }) => key);
      for (const gone of [first, second, third]) expect(keys).not.toContain(gone?.key);
    }
    expect(index.size).toBe(1);
  });

  test('have what a transaction wrote that was open while they were read', async () => {
    await fill(1, DOCUMENTS);
    const [best] = (await inDatabase()).near;
    await database.knex.raw(
      `update holdfast.memory_embeddings set model = null, dimensions = null, signs = null, changed_in = default where key = ?`,
      [best?.key ?? ''],
    );
    const index = new SignIndex({ least: LEAST });
    const search = () => by(index);
    if (kind === 'postgres') {
      // PGlite has one connection, and so no open transaction beside a search.
      await database.knex.transaction(async (trx) => {
        await put(trx, best?.key ?? '');
        for (let time = 0; time < 3; time++) expect((await search()).near).not.toContainEqual(best);
        await database.knex('holdfast.memory_documents').where({ key: 'k1' }).delete();
        expect((await search()).near).not.toContainEqual(best);
      });
    } else {
      for (let time = 0; time < 3; time++) await search();
      await database.knex.transaction((trx) => put(trx, best?.key ?? ''));
    }
    expect((await search()).near[0]).toEqual(best);
    expect(index.size).toBe(1);
  });

  /** Gives a document its vector back. */
  const put = (trx: Pick<Database['knex'], 'raw'>, key: string) =>
    trx.raw(
      `update holdfast.memory_embeddings set model = 'lab/small', dimensions = 64, changed_in = default,
              signs = ?::bit varying where key = ?`,
      [signsOf(vectorOfKey(key)), key],
    );

  test('take no more memory than they may, and are read again after a while', async () => {
    await fill(1, DOCUMENTS);
    const small = new SignIndex({ bytes: 10_000, least: LEAST });
    for (let time = 0; time < 4; time++) expect(await by(small)).toEqual(await inDatabase());
    expect(small.size).toBe(0);
    let now = 0;
    const index = new SignIndex({ now: () => now, least: LEAST });
    const sizes: number[] = [];
    for (const at of [0, 1, 2, 700_000, 700_001]) {
      now = at;
      await by(index);
      sizes.push(index.size);
    }
    expect(sizes).toEqual([0, 1, 1, 0, 1]);
  });

  test('serve searches at the same time, while others write', async () => {
    await fill(1, DOCUMENTS);
    const index = new SignIndex({ least: LEAST });
    for (let time = 0; time < 2; time++) await by(index);
    const writes = (async () => {
      for (let n = 0; n < 6; n++) {
        await fill(DOCUMENTS + 1 + n, DOCUMENTS + 1 + n);
        await database
          .knex('holdfast.memory_documents')
          .where({ key: `k${n * 3 + 1}` })
          .delete();
      }
    })();
    await Promise.all([writes, ...Array.from({ length: 6 }, (_, n) => by(index, n))]);
    for (let n = 0; n < 6; n++) expect(await by(index, n)).toEqual(await inDatabase(n));
  });
});
