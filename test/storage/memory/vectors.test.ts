import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { vectorOf } from '../../../src/core/memory/vectors.js';
import type { Database } from '../../../src/storage/database/database.js';
import { migrate } from '../../../src/storage/database/migrate.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import {
  type DocumentPlace,
  deleteDocument,
  insertDocument,
  lockDocument,
  updateDocument,
} from '../../../src/storage/memory/documents.js';
import { SignIndex, type VectorPlace } from '../../../src/storage/memory/sign-index.js';
import {
  addUnembedded,
  keepVector,
  nearestDocuments,
  putOffEmbedding,
  renewOtherVectors,
  takeUnembedded,
} from '../../../src/storage/memory/vectors.js';
import { createEngineDatabase, describeEachDatabase, type TestDatabase } from '../../harness/database.js';

/** The order of documents by their vectors, and that no vector stays of what a document said before. */

const EMBEDDING = { model: 'lab/small', dimensions: 8 };
const SPACE = { tenant: 'default', space: 's', owner: '' };
const ANY = { space: 's', limit: 100, forMs: 60_000 };

describeEachDatabase('vectors of documents', (kind) => {
  const inMemory = new SignIndex({ least: 1 });
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

  const write = (
    key: string,
    text: string,
    { embeds = true, ...other }: Partial<DocumentPlace> & { embeds?: boolean } = {},
  ) =>
    database.knex.transaction(async (trx) => {
      const at = { ...SPACE, ...other, key };
      await insertDocument(trx, { ...at, scope: 'tenant' });
      const row = await lockDocument(trx, at);
      const state = { version: (row?.version ?? 0) + 1, value: { text }, labels: [], document: Buffer.alloc(0) };
      await updateDocument(trx, at, state, { days: null, embeds });
    });
  const vector = (numbers: readonly number[]): Float32Array => {
    const made = vectorOf([...numbers, ...new Array<number>(8).fill(0)].slice(0, 8), 8);
    if (made === null) throw new Error('it has no direction');
    return made;
  };
  /** Writes documents and makes their vectors. */
  const fill = async (vectors: ReadonlyMap<string, readonly number[]>): Promise<void> => {
    for (const key of vectors.keys()) await write(key, key);
    for (const one of await takeUnembedded(database.knex, ANY))
      await keepVector(database.knex, one, EMBEDDING, vector(vectors.get(one.key) ?? [1]));
  };
  /** As the database finds them. They have to be the same from memory: by an index of signs that lives as long as the process. */
  const near = async (numbers: readonly number[], limit = 50, embedding = EMBEDDING, where: VectorPlace = SPACE) => {
    const by = (signs: SignIndex) =>
      nearestDocuments({ db: database.knex, signs }, where, embedding, { vector: vector(numbers), limit });
    const found = await by(new SignIndex());
    for (let time = 1; time <= 3; time++) expect(await by(inMemory)).toEqual(found);
    return found;
  };
  const rows = async (table: 'memory_embeddings' | 'memory_vectors'): Promise<number> =>
    Number((await database.knex(`holdfast.${table}`).count('* as n').first())?.['n']);

  test('come by their distance, then by their key, whatever the order in which they were written', async () => {
    const some = fc.uniqueArray(
      fc.tuple(
        fc.constantFrom(...'abcdefghijklmnop'),
        fc.array(fc.integer({ min: -2, max: 2 }), { minLength: 3, maxLength: 3 }),
      ),
      { selector: ([key]) => key, minLength: 1, maxLength: 12 },
    );
    await fc.assert(
      fc.asyncProperty(some, fc.integer({ min: 1, max: 12 }), async (documents, limit) => {
        const vectors = new Map(
          documents.map(([key, numbers]) => [key, numbers.some((one) => one !== 0) ? numbers : [1]]),
        );
        const asked = [1, 2, -1];
        const cosine = (numbers: readonly number[]): number => {
          const [a, b] = [vector(numbers), vector(asked)];
          return 1 - a.reduce((sum, one, at) => sum + one * (b[at] ?? 0), 0);
        };
        await database.knex('holdfast.memory_documents').delete();
        await fill(vectors);
        const found = await near(asked, limit);
        const expected = [...vectors]
          .map(([key, numbers]) => ({ owner: '', key, distance: cosine(numbers) }))
          .sort((a, b) => a.distance - b.distance || (a.key < b.key ? -1 : 1))
          .slice(0, limit);
        expect(found).toEqual({ near: expected, missing: false });
        expect(await near(asked, limit)).toEqual(found);
      }),
      { numRuns: 15 },
    );
  });

  test('are gone with the state of the document that they were made of', async () => {
    await fill(
      new Map([
        ['a', [1]],
        ['b', [0, 1]],
      ]),
    );
    expect((await near([1])).near.map(({ key }) => key)).toEqual(['a', 'b']);
    await write('a', 'another text');
    expect(await near([1])).toMatchObject({ near: [{ key: 'b' }], missing: true });
    expect(await rows('memory_vectors')).toBe(1);
    // Also by a process that knows of no embedding model, and by an erasure.
    await write('b', 'another text', { embeds: false });
    expect(await rows('memory_vectors')).toBe(0);
    for (const one of await takeUnembedded(database.knex, ANY))
      await keepVector(database.knex, one, EMBEDDING, vector([1]));
    expect(await rows('memory_vectors')).toBe(2);
    await database.knex.transaction(async (trx) => {
      const state = { version: 2, value: { text: 'what is left' }, labels: [], document: Buffer.alloc(0) };
      await updateDocument(trx, { ...SPACE, key: 'a' }, state, { erased: 'run_1' });
    });
    expect(await rows('memory_vectors')).toBe(1);
    expect(await takeUnembedded(database.knex, ANY)).toMatchObject([
      { key: 'a', words: expect.stringContaining('what is left') },
    ]);
    await deleteDocument(database.knex, { ...SPACE, key: 'a' });
    await deleteDocument(database.knex, { ...SPACE, key: 'b' });
    expect([await rows('memory_vectors'), await rows('memory_embeddings')]).toEqual([0, 0]);
  });

  test('are not kept of a state that the document has no more', async () => {
    await write('a', 'one');
    const [taken] = await takeUnembedded(database.knex, ANY);
    if (taken === undefined) throw new Error('nothing was taken');
    await write('a', 'two');
    await keepVector(database.knex, taken, EMBEDDING, vector([1]));
    expect(await rows('memory_vectors')).toBe(0);
    // An erasure does not change the version.
    const [again] = await takeUnembedded(database.knex, ANY);
    if (again === undefined) throw new Error('nothing was taken');
    await database.knex.transaction(async (trx) => {
      const state = { version: 2, value: {}, labels: [], document: Buffer.alloc(0) };
      await updateDocument(trx, { ...SPACE, key: 'a' }, state, { erased: 'run_1' });
    });
    await keepVector(database.knex, again, EMBEDDING, vector([1]));
    expect(await rows('memory_vectors')).toBe(0);
    await deleteDocument(database.knex, { ...SPACE, key: 'a' });
    await keepVector(database.knex, again, EMBEDDING, vector([1]));
    expect([await rows('memory_vectors'), await rows('memory_embeddings')]).toEqual([0, 0]);
  });

  test('are made by one worker at a time, and by another one after it died', async () => {
    for (const key of ['a', 'b', 'c']) await write(key, key);
    const [first, second] = await Promise.all([
      takeUnembedded(database.knex, { ...ANY, limit: 2 }),
      takeUnembedded(database.knex, { ...ANY, limit: 2 }),
    ]);
    expect([...first, ...second].map(({ key }) => key).sort()).toEqual(['a', 'b', 'c']);
    expect(await takeUnembedded(database.knex, ANY)).toEqual([]);
    await putOffEmbedding(database.knex, first, 0);
    expect((await takeUnembedded(database.knex, ANY)).map(({ key, tries }) => [key, tries]).sort()).toEqual(
      first.map(({ key }) => [key, 2]).sort(),
    );
    // Both workers made it: the later one takes the place of the first.
    const [one] = first;
    if (one === undefined) throw new Error('nothing was taken');
    await Promise.all([1, 2].map(() => keepVector(database.knex, one, EMBEDDING, vector([1]))));
    expect(await rows('memory_vectors')).toBe(1);
  });

  test('are made of documents that were there before, and again for another model', async () => {
    await write('a', 'old', { embeds: false });
    await write('b', 'elsewhere', { embeds: false, space: 'other' });
    expect(await takeUnembedded(database.knex, ANY)).toEqual([]);
    expect(await addUnembedded(database.knex, ANY)).toBe(1);
    expect(await addUnembedded(database.knex, ANY)).toBe(0);
    const [taken] = await takeUnembedded(database.knex, ANY);
    if (taken === undefined) throw new Error('nothing was taken');
    await keepVector(database.knex, taken, EMBEDDING, vector([1]));
    expect(await renewOtherVectors(database.knex, ANY, EMBEDDING)).toBe(0);
    const other = { ...EMBEDDING, model: 'lab/large' };
    expect((await near([1], 10, other)).near).toEqual([]);
    expect(await renewOtherVectors(database.knex, ANY, other)).toBe(1);
    expect(await near([1], 10, other)).toEqual({ near: [], missing: true });
    const [renewed] = await takeUnembedded(database.knex, ANY);
    if (renewed === undefined) throw new Error('nothing was taken');
    await keepVector(database.knex, renewed, other, vector([0, 1]));
    expect((await near([0, 1], 10, other)).near).toMatchObject([{ key: 'a' }]);
    expect((await near([0, 1])).near).toEqual([]);
  });

  test('belong to a tenant, a space and an owner', async () => {
    await write('mine', 'x');
    await write('theirs', 'x', { tenant: 'other' });
    await write('of-someone', 'x', { owner: 'someone' });
    await write('elsewhere', 'x', { space: 'other' });
    for (const space of ['s', 'other'])
      for (const one of await takeUnembedded(database.knex, { ...ANY, space }))
        await keepVector(database.knex, one, EMBEDDING, vector([1]));
    expect((await near([1])).near.map(({ key }) => key)).toEqual(['mine']);
    const all = await near([1], 9, EMBEDDING, { ...SPACE, owner: null });
    expect(all.near.map(({ owner, key }) => [owner, key])).toEqual([
      ['', 'mine'],
      ['someone', 'of-someone'],
    ]);
  });

  test('of a document whose time is over are not found', async () => {
    await fill(
      new Map([
        ['a', [1]],
        ['b', [1]],
      ]),
    );
    await database
      .knex('holdfast.memory_documents')
      .where({ key: 'a' })
      .update({ expires_at: new Date(0) });
    expect((await near([1])).near.map(({ key }) => key)).toEqual(['b']);
  });
});
