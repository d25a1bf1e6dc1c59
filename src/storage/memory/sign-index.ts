import type { Knex } from 'knex';
import { type DocumentName, type Signs, SignTable, signsOfBits } from '../../core/memory/sign-table.js';
import type { Embedding } from '../../core/tools/memory-space.js';

/**
 * Signs of the vectors of large spaces, as a process has them in memory. They are a copy: each search first reads what changed since the
 * one before, so that it finds what a search of the database would.
 */

/** Documents of a space that are looked at; `owner` null: of all owners. */
export interface VectorPlace {
  readonly tenant: string;
  readonly space: string;
  readonly owner: string | null;
}

export const OF_PLACE = 'e.tenant = :tenant and e.space = :space and (:owner::text is null or e.owner = :owner)';
const OF_MODEL = `${OF_PLACE} and e.model = :model and e.dimensions = :dimensions`;

/** The signs of fewer documents are searched in the database. */
const SIGNS_LEAST = 5_000;
/** The signs of all spaces in memory take no more, in bytes. */
const SIGNS_BYTES = 67_108_864;
/** What was used so long ago is removed if others need its memory, in milliseconds. */
const UNUSED_MS = 60_000;
/** After so long a copy is made again, in milliseconds: a database may have been put back under a process. */
const RENEWED_MS = 600_000;
/** Rows that one statement reads. */
const PAGE = 20_000;
/** How often a search reads again what changed while it read. */
const ATTEMPTS = 4;
/** So many places that were searched once are remembered. */
const REMEMBERED = 1_000;

interface Kept {
  readonly table: SignTable;
  /** What transactions from this one on wrote is not in the table, or not all of it. */
  since: string;
  readonly madeAt: number;
  usedAt: number;
}

/** A document with its vector. */
export interface VectorRow extends DocumentName {
  readonly vector: Uint8Array;
}

interface Asked {
  readonly place: VectorPlace;
  readonly embedding: Embedding;
  readonly signs: Signs;
  readonly most: number;
}

type Terms = VectorPlace & Embedding;

/** The transaction before which all are over that a statement sees. */
const SEEN = 'pg_snapshot_xmin(pg_current_snapshot())::text';

/** Whether they are of the model was seen when the changes were read. */
const VECTORS = `select v.owner, v.key, v.vector from unnest(:owners::text[], :keys::text[]) c (owner, key)
  join holdfast.memory_vectors v on v.tenant = :tenant and v.space = :space and v.owner = c.owner and v.key = c.key`;

export class SignIndex {
  readonly #now: () => number;
  readonly #bytes: number;
  readonly #least: number;
  readonly #kept = new Map<string, Kept>();
  readonly #asked = new Set<string>();
  /** Searches of one place wait for each other: each changes the copy. */
  readonly #turns = new Map<string, Promise<unknown>>();

  /** `least`: places with fewer documents are searched in the database; `bytes`: what all copies take at most. */
  constructor({ now = () => performance.now(), bytes = SIGNS_BYTES, least = SIGNS_LEAST } = {}) {
    this.#now = now;
    this.#bytes = bytes;
    this.#least = least;
  }

  /** Places whose signs are in memory. */
  get size(): number {
    return this.#kept.size;
  }

  /**
   * Vectors of the documents whose signs agree best with some. Null: the signs of this place are not in memory, and the database is to be
   * searched.
   */
  async closest(db: Knex, asked: Asked): Promise<readonly VectorRow[] | null> {
    const { place, embedding } = asked;
    const name = JSON.stringify([place.tenant, place.space, place.owner, embedding.model, embedding.dimensions]);
    const before = this.#turns.get(name) ?? Promise.resolve();
    const turn = before.catch(() => undefined).then(() => this.#search(db, name, asked));
    this.#turns.set(name, turn);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(name) === turn) this.#turns.delete(name);
    }
  }

  async #search(
    db: Knex,
    name: string,
    { place, embedding, signs, most }: Asked,
  ): Promise<readonly VectorRow[] | null> {
    const terms = { ...place, model: embedding.model, dimensions: embedding.dimensions };
    const kept = await this.#keptOf(db, name, terms);
    if (kept === null) return null;
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      await readChanges(db, kept, terms);
      const names = kept.table.closest(signs, most);
      const { rows }: { rows: VectorRow[] } = await db.raw(VECTORS, {
        ...terms,
        owners: names.map(({ owner }) => owner),
        keys: names.map(({ key }) => key),
      });
      if (rows.length === names.length) return rows;
      // Of a document that is gone no row says so.
      const there = new Set(rows.map(({ owner, key }) => `${owner}\0${key}`));
      for (const one of names) if (!there.has(`${one.owner}\0${one.key}`)) kept.table.delete(one);
    }
    return null;
  }

  async #keptOf(db: Knex, name: string, terms: Terms): Promise<Kept | null> {
    const now = this.#now();
    const kept = this.#kept.get(name);
    if (kept !== undefined && now - kept.madeAt < RENEWED_MS) {
      kept.usedAt = now;
      return kept;
    }
    this.#kept.delete(name);
    // The signs of a place that is searched once are read once, by the database.
    if (!this.#asked.delete(name)) {
      if (this.#asked.size >= REMEMBERED) this.#asked.clear();
      if (await isLarge(db, terms, this.#least)) this.#asked.add(name);
      return null;
    }
    const free = this.#freeBeside(now);
    const made = await readAll(db, terms, Math.floor(free / SignTable.bytesOf(terms.dimensions, 1)));
    if (made === null) return null;
    const one: Kept = { ...made, madeAt: now, usedAt: now };
    this.#kept.set(name, one);
    return one;
  }

  /** Bytes that are left beside what was used lately. What was not used goes. */
  #freeBeside(now: number): number {
    let taken = 0;
    for (const [name, { table, usedAt }] of this.#kept)
      if (now - usedAt > UNUSED_MS) this.#kept.delete(name);
      else taken += table.bytes;
    return this.#bytes - taken;
  }
}

async function isLarge(db: Knex, terms: Terms, least: number): Promise<boolean> {
  const { rows } = await db.raw(`select 1 from holdfast.memory_embeddings e where ${OF_MODEL} offset :before limit 1`, {
    ...terms,
    before: least - 1,
  });
  return rows.length > 0;
}

interface SignRow extends DocumentName {
  readonly bits: Uint8Array | null;
}

/** As `varbit` is sent: its length in four bytes, then its bits. */
const BITS = 'substring(varbit_send(e.signs) from 5)';

/** The signs of all documents of a place, a page at a time. Null: there are more than fit. */
async function readAll(db: Knex, terms: Terms, most: number): Promise<Pick<Kept, 'table' | 'since'> | null> {
  const table = new SignTable(terms.dimensions);
  // What changes while the pages are read is read again by the first search.
  const { rows: snapshot }: { rows: { seen: string }[] } = await db.raw(`select ${SEEN} as seen`);
  const since = snapshot[0]?.seen ?? '0';
  let after: DocumentName | undefined;
  for (;;) {
    const { rows }: { rows: SignRow[] } = await db.raw(
      `select e.owner, e.key, ${BITS} as bits from holdfast.memory_embeddings e
        where ${OF_MODEL} and (:first or (e.owner, e.key) > (:lastOwner, :lastKey)) order by e.owner, e.key limit ${PAGE}`,
      { ...terms, first: after === undefined, lastOwner: after?.owner ?? '', lastKey: after?.key ?? '' },
    );
    for (const row of rows) setSigns(table, row, terms.dimensions);
    if (table.size > most) return null;
    const last: SignRow | undefined = rows.at(-1);
    if (rows.length < PAGE || last === undefined) return { table, since };
    after = { owner: last.owner, key: last.key };
  }
}

/** Without a document where none changed. */
interface ChangedRow {
  readonly seen: string;
  readonly owner: string | null;
  readonly key: string | null;
  readonly bits: Uint8Array | null;
}

/** Takes over what other transactions changed since. */
async function readChanges(db: Knex, kept: Kept, terms: Terms): Promise<void> {
  const { rows }: { rows: ChangedRow[] } = await db.raw(
    `select s.seen, c.owner, c.key, c.bits from (select ${SEEN} as seen) s left join lateral (
         select e.owner, e.key, case when e.model = :model and e.dimensions = :dimensions then ${BITS} end as bits
           from holdfast.memory_embeddings e where ${OF_PLACE} and e.changed_in >= :since::xid8) c on true`,
    { ...terms, since: kept.since },
  );
  for (const { owner, key, bits } of rows)
    if (owner !== null && key !== null) setSigns(kept.table, { owner, key, bits }, terms.dimensions);
  kept.since = rows[0]?.seen ?? kept.since;
}

function setSigns(table: SignTable, { owner, key, bits }: SignRow, dimensions: number): void {
  if (bits === null) table.delete({ owner, key });
  else table.set({ owner, key }, signsOfBits(bits, dimensions));
}
