import type { Knex } from 'knex';
import { type DocumentName, signsOfVector } from '../../core/memory/sign-table.js';
import { bytesOfVector, distanceTo, readVectors, signsOf } from '../../core/memory/vectors.js';
import type { Embedding } from '../../core/tools/memory-space.js';
import { type DocumentPlace, LIVING } from './documents.js';
import { OF_PLACE, type SignIndex, type VectorPlace, type VectorRow } from './sign-index.js';

/** Vectors of documents: an index that is made from them, and that says which documents are read. */

const SAME = 'e.tenant = d.tenant and e.space = d.space and e.owner = d.owner and e.key = d.key';

interface NearDocument {
  readonly owner: string;
  readonly key: string;
  readonly distance: number;
}

interface NearDocuments {
  /** By distance, then owner, then key. */
  readonly near: readonly NearDocument[];
  /** Whether there are documents that have no vector yet. */
  readonly missing: boolean;
}

/** Documents whose signs agree best with those of the vector. */
const CLOSEST = `select e.owner, e.key from holdfast.memory_embeddings e
  where ${OF_PLACE} and e.model = :model and e.dimensions = :dimensions
  order by bit_count(e.signs # :signs::bit varying), e.owner collate "C", e.key collate "C" limit :most`;

/** Documents whose vectors are nearest to one. `signs`: the signs of large spaces, in memory. */
export async function nearestDocuments(
  { db, signs }: { readonly db: Knex; readonly signs: SignIndex },
  { tenant, space, owner }: VectorPlace,
  { model, dimensions }: Embedding,
  { vector, limit }: { readonly vector: Float32Array; readonly limit: number },
): Promise<NearDocuments> {
  const place = { tenant, space, owner };
  const most = readVectors(dimensions);
  const asked = { place, embedding: { model, dimensions }, signs: signsOfVector(vector), most };
  const rows = (await signs.closest(db, asked)) ?? (await closestInDatabase(db, place, { model, dimensions }, vector));
  const size = bytesOfVector(vector).length;
  const ranked = rows
    .filter((row) => row.vector.length === size)
    .map((row) => ({ owner: row.owner, key: row.key, distance: distanceTo(vector, row.vector) }))
    .sort((a, b) => a.distance - b.distance || order(a.owner, b.owner) || order(a.key, b.key));
  const near = await livingOf(db, place, ranked, limit);
  const { rows: missing } = await db.raw(
    `select 1 from holdfast.memory_embeddings e where ${OF_PLACE} and e.model is null limit 1`,
    place,
  );
  return { near, missing: missing.length > 0 };
}

async function closestInDatabase(
  db: Knex,
  place: VectorPlace,
  { model, dimensions }: Embedding,
  vector: Float32Array,
): Promise<readonly VectorRow[]> {
  const { rows }: { rows: VectorRow[] } = await db.raw(
    `select v.owner, v.key, v.vector from (${CLOSEST}) c
       join holdfast.memory_vectors v on v.tenant = :tenant and v.space = :space and v.owner = c.owner and v.key = c.key`,
    { ...place, model, dimensions, signs: signsOf(vector), most: readVectors(dimensions) },
  );
  return rows;
}

/** Of the first ones of a list those whose time is not over, up to a limit. */
async function livingOf(
  db: Knex,
  { tenant, space }: VectorPlace,
  ranked: readonly NearDocument[],
  limit: number,
): Promise<readonly NearDocument[]> {
  const found: NearDocument[] = [];
  for (let from = 0; from < ranked.length && found.length < limit; from += LIVING_AT_ONCE) {
    const some = ranked.slice(from, from + LIVING_AT_ONCE);
    const { rows }: { rows: DocumentName[] } = await db.raw(
      `select d.owner, d.key from unnest(:owners::text[], :keys::text[]) c (owner, key)
         join holdfast.memory_documents d on d.tenant = :tenant and d.space = :space and d.owner = c.owner and d.key = c.key
        where ${LIVING}`,
      { tenant, space, owners: some.map((one) => one.owner), keys: some.map((one) => one.key) },
    );
    const living = new Set(rows.map((one) => JSON.stringify([one.owner, one.key])));
    found.push(...some.filter((one) => living.has(JSON.stringify([one.owner, one.key]))));
  }
  return found.slice(0, limit);
}

/** More than an answer has, so that most searches ask once. */
const LIVING_AT_ONCE = 100;

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** How many documents of a tenant have no vector yet, by their space. */
export async function unembeddedOf(db: Knex, tenant: string): Promise<ReadonlyMap<string, number>> {
  const { rows }: { rows: { space: string; documents: number }[] } = await db.raw(
    `select space, count(*)::int as documents from holdfast.memory_embeddings
      where tenant = ? and model is null group by space`,
    [tenant],
  );
  return new Map(rows.map(({ space, documents }) => [space, documents]));
}

/** A document that gets a vector, at one of its states. */
export interface DueDocument extends DocumentPlace {
  readonly version: number;
  readonly salt: string | null;
  readonly words: string;
}

/**
 * Takes documents of a space that have no vector, those that wait for longest first. For so long no other worker takes them; a worker that
 * dies leaves them to others.
 */
export async function takeUnembedded(
  db: Knex,
  { space, limit, forMs }: { readonly space: string; readonly limit: number; readonly forMs: number },
): Promise<readonly (DueDocument & { readonly tries: number })[]> {
  const { rows } = await db.raw(
    `with due as (
       select e.tenant, e.space, e.owner, e.key from holdfast.memory_embeddings e
        where e.space = :space and e.model is null and e.due_at <= now() order by e.due_at limit :limit for update skip locked),
     taken as (
       update holdfast.memory_embeddings e set due_at = now() + :forMs * interval '1 millisecond', tries = e.tries + 1
         from due d where ${SAME} returning e.tenant, e.space, e.owner, e.key, e.tries)
     select d.tenant, d.space, d.owner, d.key, d.version, d.salt, d.words, e.tries
       from taken e join holdfast.memory_documents d on ${SAME}`,
    { space, limit, forMs },
  );
  return rows;
}

/**
 * Keeps the vector of a document, unless the document is another one by now: then a worker makes its vector later. Under its lock no one
 * changes it meanwhile.
 */
export async function keepVector(
  db: Knex,
  { tenant, space, owner, key, version, salt }: DueDocument,
  { model, dimensions }: Embedding,
  vector: Float32Array,
): Promise<void> {
  const place = { tenant, space, owner, key };
  await db.transaction(async (trx) => {
    const { rows } = await trx.raw(
      `select 1 from holdfast.memory_documents d
        where d.tenant = :tenant and d.space = :space and d.owner = :owner and d.key = :key
          and d.version = :version and d.salt is not distinct from :salt::text for share`,
      { ...place, version, salt },
    );
    if (rows.length === 0) return;
    await trx.raw(
      `with kept as (
         insert into holdfast.memory_vectors (tenant, space, owner, key, vector) values (:tenant, :space, :owner, :key, :bytes)
         on conflict (tenant, space, owner, key) do update set vector = excluded.vector)
       update holdfast.memory_embeddings set model = :model, dimensions = :dimensions, signs = :signs::bit varying, changed_in = default
        where tenant = :tenant and space = :space and owner = :owner and key = :key`,
      { ...place, model, dimensions, signs: signsOf(vector), bytes: bytesOfVector(vector) },
    );
  });
}

/** Says when a worker tries again with documents that it has taken. */
export async function putOffEmbedding(db: Knex, taken: readonly DocumentPlace[], byMs: number): Promise<void> {
  if (taken.length === 0) return;
  await db.raw(
    `update holdfast.memory_embeddings e set due_at = now() + ? * interval '1 millisecond'
       from unnest(?::text[], ?::text[], ?::text[], ?::text[]) as d (tenant, space, owner, key) where ${SAME} and e.model is null`,
    [byMs, ...(['tenant', 'space', 'owner', 'key'] as const).map((column) => taken.map((one) => one[column]))],
  );
}

/** Has vectors made of documents that were there before their space had a model. Gives how many were found. */
export async function addUnembedded(
  db: Knex,
  { space, limit }: { readonly space: string; readonly limit: number },
): Promise<number> {
  const { rowCount }: { rowCount: number } = await db.raw(
    `insert into holdfast.memory_embeddings (tenant, space, owner, key)
       select d.tenant, d.space, d.owner, d.key from holdfast.memory_documents d
        where d.space = :space and d.version > 0
          and not exists (select 1 from holdfast.memory_embeddings e where ${SAME}) limit :limit
     on conflict do nothing`,
    { space, limit },
  );
  return rowCount;
}

/**
 * Has vectors made again that another model made. No search reads these any more; each stays until the other one takes its place, or its
 * document changes. Gives how many were found.
 */
export async function renewOtherVectors(
  db: Knex,
  { space, limit }: { readonly space: string; readonly limit: number },
  { model, dimensions }: Embedding,
): Promise<number> {
  const { rowCount }: { rowCount: number } = await db.raw(
    `with other as materialized (
       select e.tenant, e.space, e.owner, e.key from holdfast.memory_embeddings e
        where e.space = :space and (e.model <> :model or e.dimensions <> :dimensions) limit :limit for update skip locked)
     update holdfast.memory_embeddings e
        set model = null, dimensions = null, signs = null, tries = 0, due_at = now(), changed_in = default from other d where ${SAME}`,
    { space, limit, model, dimensions },
  );
  return rowCount;
}
