import type { Knex } from 'knex';
import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import { documentName } from '../../core/integrity/memory-rows.js';
import { canonical, type JsonObject, type JsonValue, jsonObject, plainText } from '../../core/json.js';
import type { MemorySpace } from '../../core/tools/memory-space.js';
import { type MemoryDocument, type TrustLabel, trustLabel } from '../../core/tools/tool-memory.js';
import { type Cell, readJson } from '../database/stored-json.js';

/** A document that was removed with its history. */
export interface GoneDocument {
  readonly tenant: string;
  readonly space: string;
  /** Null: it was made before the database kept evidence. */
  readonly id: string | null;
  readonly version: number;
}
export const GONE = ['tenant', 'space', 'id', 'version'] as const;

/** Who removed documents, and why. */
export interface Forgetting {
  readonly actor: string;
  readonly reason: string;
}

/** The time of a document is over. */
export const EXPIRED: Forgetting = { actor: 'retention', reason: 'The retention of the space' };

/** A part of a space: what belongs to one owner. */
export interface MemoryPlace {
  readonly tenant: string;
  readonly space: string;
  readonly owner: string;
}

export interface DocumentPlace extends MemoryPlace {
  readonly key: string;
}

/** A row of `holdfast.memory_documents` as the driver gives it. */
export interface DocumentRow {
  tenant: string;
  space: string;
  owner: string;
  key: string;
  scope: string;
  version: number;
  value: string;
  labels: string;
  document: Uint8Array;
  words: string;
  created_at: Date;
  changed_at: Date;
  expires_at: Date | null;
  /** Null: it was made before the database kept evidence. */
  id: string | null;
  salt: string | null;
  /** The run whose erasure it was made again after, where nothing has changed it since. */
  remade: string | null;
}

export const documents = (db: Knex) => db<DocumentRow>('holdfast.memory_documents');

export const SHOWN = ['space', 'owner', 'key', 'version', 'value', 'labels', 'changed_at'] as const;
export type ShownRow = Pick<DocumentRow, (typeof SHOWN)[number]>;

const labelList = z.array(trustLabel);
type Named = Pick<DocumentRow, 'space' | 'owner' | 'key'>;
const cell = (named: Named, column: keyof DocumentRow): Cell => ({
  ...{ table: 'memory_documents', row: documentName(named), column },
});

/** Labels as rows of memory and of sessions have them. */
export const readLabels = (labels: string, of: Cell): readonly TrustLabel[] => readJson(labelList, labels, of);
export const labelsOf = (row: Named & Pick<DocumentRow, 'labels'>): readonly TrustLabel[] =>
  readLabels(row.labels, cell(row, 'labels'));
export const contentOf = (row: Named & Pick<DocumentRow, 'value'>): JsonObject =>
  readJson(jsonObject, row.value, cell(row, 'value'));

export const documentOf = (row: ShownRow): MemoryDocument => ({
  ...{ space: row.space, key: row.key, version: row.version, value: contentOf(row) },
  ...{ labels: labelsOf(row), changedAt: row.changed_at.toISOString() },
});

/** Of a document whose time is not over. */
export const LIVING = '(expires_at is null or expires_at > now())';
const living = (db: Knex, { tenant, space, owner }: MemoryPlace) =>
  documents(db).where({ tenant, space, owner }).whereRaw(LIVING);

/** Keys of documents of a part of a space: those that were changed last come first, and of two at one time that with the lesser key. */
export const latestKeys = (db: Knex, place: MemoryPlace, limit: number): Promise<string[]> =>
  living(db, place)
    .orderBy([{ column: 'changed_at', order: 'desc' }, { column: 'key' }])
    .limit(limit)
    .pluck('key');

/** Labels that documents have between them. Those that are not there have none. */
export async function labelsOfDocuments(db: Knex, places: readonly DocumentPlace[]): Promise<readonly TrustLabel[]> {
  const found: TrustLabel[] = [];
  for (const { tenant, space, owner, key } of places) {
    const row = await documents(db).where({ tenant, space, owner, key }).first('labels');
    if (row !== undefined) found.push(...labelsOf({ space, owner, key, ...row }));
  }
  return found;
}

/** Holds a document until the transaction ends; undefined: there is none, or its time is over. */
export async function lockDocument(trx: Knex.Transaction, place: DocumentPlace): Promise<DocumentRow | undefined> {
  const { tenant, space, owner, key } = place;
  return documents(trx).where({ tenant, space, owner, key }).forUpdate().first();
}

/** Makes the row of a document that was not there; false: someone else was faster. */
export async function insertDocument(
  trx: Knex.Transaction,
  row: Pick<DocumentRow, 'tenant' | 'space' | 'owner' | 'key' | 'scope'>,
): Promise<void> {
  await documents(trx)
    .insert({ ...row, version: 0, value: '{}', labels: '[]', document: Buffer.alloc(0), words: '' })
    .onConflict(['tenant', 'space', 'owner', 'key'])
    .ignore();
}

export interface DocumentState {
  readonly version: number;
  readonly value: JsonObject;
  readonly labels: readonly TrustLabel[];
  readonly document: Buffer;
}

/**
 * A change: the document goes after so many days; null: never. `embeds`: a vector is made of it. An erasure: when it goes stays as it
 * is, and a vector is made again where there was one.
 */
type DocumentUpdate = { readonly days: number | null; readonly embeds: boolean } | { readonly erased: string };

/**
 * Part of the statement that changes a document: what was made of its former state goes with that. A row of the document says that a
 * vector is to be made.
 */
const WITHOUT_VECTOR = `delete from holdfast.memory_vectors
  where tenant = :tenant and space = :space and owner = :owner and key = :key`;
const TO_EMBED = `insert into holdfast.memory_embeddings (tenant, space, owner, key)
  select :tenant, :space, :owner, :key where :embeds or exists (
    select 1 from holdfast.memory_embeddings where tenant = :tenant and space = :space and owner = :owner and key = :key)
  on conflict (tenant, space, owner, key)
    do update set model = null, dimensions = null, signs = null, tries = 0, due_at = now(), changed_in = default`;

export async function updateDocument(
  trx: Knex.Transaction,
  { tenant, space, owner, key }: DocumentPlace,
  { version, value, labels, document }: DocumentState,
  update: DocumentUpdate,
): Promise<void> {
  // The salt of a state goes with it: what the document said before an erasure cannot be tried.
  const salt = trx.raw('gen_random_uuid()::text') as unknown as string;
  const changed =
    'erased' in update
      ? { remade: update.erased }
      : {
          changed_at: trx.fn.now() as unknown as Date,
          expires_at: (update.days === null
            ? null
            : trx.raw("now() + ? * interval '1 day'", [update.days])) as Date | null,
          id: trx.raw('coalesce(id, gen_random_uuid()::text)') as unknown as string,
          remade: null,
        };
  const place = { tenant, space, owner, key };
  await documents(trx)
    .with('without_vector', trx.raw(WITHOUT_VECTOR, place))
    .with('to_embed', trx.raw(TO_EMBED, { ...place, embeds: 'embeds' in update && update.embeds }))
    .where(place)
    .update({
      ...{ version, value: canonical(value), labels: canonical([...labels]), document, words: wordsOf(key, value) },
      ...{ salt, ...changed },
    });
}

/** Removes a document with its history. Null: there was none. */
export async function deleteDocument(
  db: Knex,
  { tenant, space, owner, key }: DocumentPlace,
): Promise<GoneDocument | null> {
  const [gone] = await documents(db)
    .where({ tenant, space, owner, key })
    .delete()
    .returning([...GONE]);
  return gone ?? null;
}

/** What a search looks at: the key, and every text and name in the document. */
export function wordsOf(key: string, value: JsonObject): string {
  const words: string[] = [key];
  const look = (one: JsonValue): void => {
    if (typeof one === 'string') words.push(one);
    else if (typeof one === 'number' || typeof one === 'boolean') words.push(String(one));
    else if (Array.isArray(one)) for (const item of one) look(item);
    else if (one !== null)
      for (const [name, member] of Object.entries(one as JsonObject)) {
        words.push(name);
        look(member);
      }
  };
  look(value);
  return plainText(words.join('\n'));
}

interface Owning {
  readonly runId: string;
  readonly agent: string;
  readonly sessionId: string | null;
}

/** Whose documents of a space a run reads and writes. Throws `memory_without_owner`. */
export async function ownerOf(
  db: Knex,
  { name, scope }: MemorySpace,
  { runId, agent, sessionId }: Owning,
): Promise<string> {
  const without = (what: string): HoldfastError =>
    new HoldfastError('memory_without_owner', `The space ${name} has the scope ${scope}, and run ${runId} ${what}.`);
  if (scope === 'run') return runId;
  if (scope === 'agent') return agent;
  if (scope === 'tenant') return '';
  if (scope === 'session') {
    if (sessionId === null) throw without('is in no session');
    return sessionId;
  }
  const subjects: string[] = await db('holdfast.run_subjects')
    .where({ run_id: runId })
    .orderBy('subject')
    .limit(2)
    .pluck('subject');
  const [only, other] = subjects;
  if (only === undefined) throw without('is about no subject');
  if (other !== undefined) throw without('is about several subjects');
  return only;
}
