import type { Knex } from 'knex';
import { HoldfastError } from '../../core/errors/errors.js';
import { documentName, type FalseMemory, falseChange } from '../../core/integrity/memory-rows.js';
import type { Integrity } from '../../core/integrity.js';
import type { DocumentName } from '../../core/memory/memory-view.js';
import type { MemoryDocument } from '../../core/tools/tool-memory.js';
import { contentOf, type DocumentPlace, labelsOf, type MemoryPlace } from '../memory/documents.js';
import { changesWithEvidence, type FoundDocument, falseDocuments, foundByKeys, foundByNames } from './memory-checks.js';

const SHOWN_MOST = 20;

/**
 * Documents with these keys that are there, in the order of the keys, each compared with the log. Throws `row_changed` where someone has
 * changed one: then none of them is used.
 */
async function proven(db: Knex, place: MemoryPlace, keys: readonly string[]): Promise<readonly MemoryDocument[]> {
  if (keys.length === 0) return [];
  const first = await lookedAt(db, place, keys);
  // A change or an erasure between two statements looks like one by someone else.
  const { found, wrong } = first.wrong.length === 0 ? first : await lookedAt(db, place, keys);
  const [one] = wrong;
  if (one === undefined) return found.map(documentOf);
  const column = one.column === null ? '' : `, column ${one.column}`;
  throw new HoldfastError('row_changed', `${one.table}, row ${one.row}${column}: ${one.what}.`, {
    hint: `Someone changed the database: \`holdfast memory ${place.space}\` shows which documents; forget such a document to go on.`,
  });
}

/** What of the documents of a page is not what the log says, by owner and key. */
async function falseIn(
  db: Knex,
  space: Pick<MemoryPlace, 'tenant' | 'space'>,
  names: readonly DocumentName[],
): Promise<(name: DocumentName) => Integrity> {
  if (names.length === 0) return () => [];
  const look = async () => falseDocuments(db, await foundByNames(db, space, names));
  const first = await look();
  const wrong = first.length === 0 ? first : await look();
  return ({ owner, key }) => {
    const own = documentName({ space: space.space, owner, key });
    return wrong.filter(({ row }) => row === own || row.startsWith(`${own}@`)).slice(0, SHOWN_MOST);
  };
}

/** Changes of a document that are not what the logs of their runs say. */
async function falseChanges(db: Knex, place: DocumentPlace, versions: readonly number[]): Promise<Integrity> {
  const look = async () => (await changesWithEvidence(db, place, versions)).flatMap(falseChange);
  const first = await look();
  return (first.length === 0 ? first : await look()).slice(0, SHOWN_MOST);
}

async function lookedAt(
  db: Knex,
  place: MemoryPlace,
  keys: readonly string[],
): Promise<{ readonly found: readonly FoundDocument[]; readonly wrong: readonly FalseMemory[] }> {
  const found = await foundByKeys(db, place, keys);
  return { found, wrong: await falseDocuments(db, found) };
}

const namesOf = ({ space, owner, key }: FoundDocument['row']) => ({
  ...{ space: space ?? '', owner: owner ?? '', key: key ?? '' },
});

/** The row of a document is as its last writer left it, so that its texts are what was written. */
const documentOf = ({ row }: FoundDocument): MemoryDocument => ({
  ...{ space: row.space ?? '', key: row.key ?? '', version: Number(row.version) },
  value: contentOf({ ...namesOf(row), value: row.value ?? '{}' }),
  labels: labelsOf({ ...namesOf(row), labels: row.labels ?? '[]' }),
  changedAt: `${row.changed_at?.slice(0, 23)}Z`,
});

export const MEMORY_EVIDENCE = { proven, falseIn, falseChanges } as const;
