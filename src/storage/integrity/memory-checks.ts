import type { Knex } from 'knex';
import {
  changeName,
  documentName,
  type FalseMemory,
  type FoundChange,
  falseChange,
  falseDocument,
  type LoggedCall,
  writeOf,
} from '../../core/integrity/memory-rows.js';
import { canonical, jsonOrNull } from '../../core/json.js';
import { dataHash, eventHash } from '../../core/log/chain.js';
import { EVENT_DATA } from '../../core/log/event.js';
import type { ChangeText, DocumentText, WriteText } from '../../core/memory/memory-evidence.js';
import { eventWith } from '../log/read-events.js';
import type { EventRow } from '../log/write-events.js';
import { changesOf, labelsOfChanges } from '../memory/changes.js';
import { CrdtDocument } from '../memory/crdt-document.js';
import { LIVING, type MemoryPlace, wordsOf } from '../memory/documents.js';
import { CHANGE_TEXT, DOCUMENT_TEXT, SAME_PLACE, WRITE_TEXT } from '../memory/evidence-rows.js';

/** A document as its row has it, with its last change. */
export interface FoundDocument {
  readonly row: DocumentText;
  readonly salt: string | null;
  /** The run whose erasure it was made again after; null: none, or it was changed since. */
  readonly remade: string | null;
  /** Null: the change that made its version is not there. */
  readonly last: ChangeText | null;
  /** The log over all runs says that it was removed. */
  readonly gone: boolean;
}

interface Row {
  document: string;
  salt: string | null;
  remade: string | null;
  last: string | null;
  gone: boolean;
}

const SELECT = `select ${DOCUMENT_TEXT} as document, d.salt, d.remade,
  exists (select from holdfast.log_entries l where l.document = d.id) as gone, case when c.key is null then null else ${CHANGE_TEXT} end as last
  from holdfast.memory_documents d left join holdfast.memory_changes c on ${SAME_PLACE} and c.version = d.version`;

const foundIn = (rows: readonly Row[]): FoundDocument[] =>
  rows.map(({ document, salt, remade, last, gone }) => ({
    // What the database wrote as JSON, from columns that are named there.
    row: JSON.parse(document) as DocumentText,
    ...{ salt, remade, gone },
    last: last === null ? null : (JSON.parse(last) as ChangeText),
  }));

/** Documents of a part of a space, in the order of these keys. Those that are not there, or whose time is over, are left out. */
export async function foundByKeys(
  db: Knex,
  { tenant, space, owner }: MemoryPlace,
  keys: readonly string[],
): Promise<FoundDocument[]> {
  const { rows }: { rows: Row[] } = await db.raw(
    `${SELECT} where d.tenant = ? and d.space = ? and d.owner = ? and d.key = any(?) and ${LIVING} order by array_position(?::text[], d.key)`,
    [tenant, space, owner, [...keys], [...keys]],
  );
  return foundIn(rows);
}

/** Documents of a space by owner and key. */
export async function foundByNames(
  db: Knex,
  { tenant, space }: Pick<MemoryPlace, 'tenant' | 'space'>,
  names: readonly { readonly owner: string; readonly key: string }[],
): Promise<FoundDocument[]> {
  const { rows }: { rows: Row[] } = await db.raw(
    `${SELECT} join unnest(?::text[], ?::text[]) as n (owner, key) on d.owner = n.owner and d.key = n.key where d.tenant = ? and d.space = ?`,
    [names.map(({ owner }) => owner), names.map(({ key }) => key), tenant, space],
  );
  return foundIn(rows);
}

/** SQL of the places of documents that a run wrote, by the ids that its writes have and by what changes say: each may be changed. */
export const PLACES_OF_RUN = `(select tenant, space, owner, key from holdfast.memory_documents where id = any(?)
  union select tenant, space, owner, key from holdfast.memory_changes where run_id = ?)`;

/** Documents that a run wrote. */
export async function foundOfRun(db: Knex, runId: string, ids: readonly string[]): Promise<FoundDocument[]> {
  const { rows }: { rows: Row[] } = await db.raw(
    `${SELECT} join ${PLACES_OF_RUN} p on p.tenant = d.tenant and p.space = d.space and p.owner = d.owner and p.key = d.key`,
    [[...ids], runId],
  );
  return foundIn(rows);
}

/** Which rows of documents, and of the changes that made them what they are, do not say what logs say. */
export async function falseDocuments(db: Knex, found: readonly FoundDocument[]): Promise<readonly FalseMemory[]> {
  const lasts = found.flatMap(({ last }) => (last === null ? [] : [last]));
  const [callOf, writesOf] = [await loggedCalls(db, lasts), await writesOfCalls(db, lasts)];
  const wrong: FalseMemory[] = [];
  for (const one of found) {
    const { row, salt, remade, last, gone } = one;
    if (gone) {
      wrong.push(of(row, 'id', 'the log over all runs says that the document was removed'));
      continue;
    }
    if (remade !== null) {
      wrong.push(...(await falseRemade(db, one, remade)));
      continue;
    }
    if (last === null) {
      // What an older build made again after an erasure has no evidence.
      if (row.id !== null) wrong.push(of(row, 'version', 'the change that made it is not there'));
      continue;
    }
    const change = { row: last, call: callOf(last), writes: writesOf(last), document: row.id, remade: false };
    wrong.push(...falseChange(change));
    const state = writeOf(change)?.state ?? null;
    if (state !== null) wrong.push(...falseDocument(row, state, salt ?? ''));
  }
  return wrong;
}

const of = (row: DocumentText, column: string, what: string): FalseMemory => ({
  ...{ table: 'memory_documents', row: documentName(row), column, what },
});

/** A document that was made again after an erasure must be what its changes make, and each of these what its log says. */
async function falseRemade(db: Knex, { row }: FoundDocument, run: string): Promise<readonly FalseMemory[]> {
  const erased = await db('holdfast.log_entries').where({ run_id: run, loss: 'erased' }).first('index');
  if (erased === undefined) return [of(row, 'remade', `no entry of the log says that run ${run} was erased`)];
  const place = { tenant: row.tenant ?? '', space: row.space ?? '', owner: row.owner ?? '', key: row.key ?? '' };
  const wrong = (await changesWithEvidence(db, place, null)).flatMap(falseChange);
  return wrong.length > 0 ? wrong : await falseBuild(db, row, place);
}

type Place = MemoryPlace & { readonly key: string };

/** Changes of a document with what their logs say. `versions` null: all of them. */
export async function changesWithEvidence(
  db: Knex,
  { tenant, space, owner, key }: Place,
  versions: readonly number[] | null,
): Promise<readonly FoundChange[]> {
  const { rows }: { rows: { change: string; document: string | null; remade: boolean }[] } = await db.raw(
    `select ${CHANGE_TEXT} as change, d.id as document, d.remade is not null as remade from holdfast.memory_changes c
       join holdfast.memory_documents d on ${SAME_PLACE}
      where c.tenant = ? and c.space = ? and c.owner = ? and c.key = ? and (?::int[] is null or c.version = any(?::int[]))
      order by c.version`,
    [tenant, space, owner, key, ...[versions, versions].map((list) => (list === null ? null : [...list]))],
  );
  // What the database wrote as JSON, from columns that are named there.
  const changes = rows.map(({ change, ...rest }) => ({ ...rest, row: JSON.parse(change) as ChangeText }));
  const calls = changes.map(({ row }) => row);
  const [callOf, writesOf] = [await loggedCalls(db, calls), await writesOfCalls(db, calls)];
  return changes.map((one) => ({ ...one, call: callOf(one.row), writes: writesOf(one.row) }));
}

async function falseBuild(db: Knex, row: DocumentText, place: Place): Promise<readonly FalseMemory[]> {
  const changes = await changesOf(db, place, { after: 0, limit: null });
  const { document, frontiers } = await CrdtDocument.from(changes);
  const { value, bytes } = document;
  document.free();
  const stored: { version: number; frontiers: string }[] = await db('holdfast.memory_changes')
    .where({ tenant: place.tenant, space: place.space, owner: place.owner, key: place.key })
    .select('version', 'frontiers');
  const moved = stored.filter((one) => one.frontiers !== frontiers.get(one.version));
  const { rows }: { rows: { digest: string }[] } = await db.raw(`select encode(sha256(?), 'hex') as digest`, [bytes]);
  const made: readonly (readonly [column: 'value' | 'labels' | 'words' | 'document', text: string | undefined])[] = [
    ['value', canonical(value)],
    ['labels', canonical([...labelsOfChanges(changes)])],
    ['words', wordsOf(place.key, value)],
    ['document', rows[0]?.digest],
  ];
  const wrong = made.filter(([column, text]) => row[column] !== text);
  return [
    ...wrong.map(([column]) => of(row, column, 'it is not what its changes make')),
    ...moved.map(({ version }) => ({
      ...{ table: 'memory_changes' as const, row: changeName({ ...row, version }), column: 'frontiers' },
      what: 'the document does not stand there after the changes before',
    })),
  ];
}

/** A call that wrote, as a change names it. */
export interface NamedCall {
  readonly run_id: string | null;
  readonly call_id: string | null;
  readonly event: string | null;
}

const nameOf = ({ run_id: run, call_id: call }: NamedCall): string => `${run}:${call}`;

interface CallRow {
  name: string;
  there: boolean;
  run_key: string | null;
  erased: boolean;
  removed: boolean;
  event: Omit<EventRow, 'key' | 'worker'> | null;
}

/** Canonical JSON has the id of the call first. The event that ended a call comes soon after the one that began it. */
const CALLS = `select n.name, r.id is not null as there, k.key as run_key,
    exists (select from holdfast.log_entries l where l.run_id = n.run_id and l.loss = 'erased') as erased,
    exists (select from holdfast.log_entries l where l.run_id = n.run_id and l.loss = 'removed') as removed,
    (select row_to_json(e) from holdfast.all_events e
      where e.run_id = n.run_id and e.seq > n.event and e.kind = 'call.finished' and starts_with(e.data, n.prefix)
      order by e.seq limit 1) as event
  from unnest(?::text[], ?::text[], ?::int[], ?::text[]) as n (name, run_id, event, prefix)
  left join holdfast.runs r on r.id = n.run_id left join holdfast.run_keys k on k.run_id = n.run_id`;

/** What the logs say of calls, by run and call. The event that ended one must fit its own hashes; the chain is for `verify`. */
async function loggedCalls(db: Knex, calls: readonly NamedCall[]): Promise<(call: NamedCall) => LoggedCall> {
  const named = [...new Map(calls.map((call) => [nameOf(call), call])).values()];
  const { rows }: { rows: CallRow[] } = await db.raw(CALLS, [
    named.map(nameOf),
    named.map(({ run_id: run }) => run ?? ''),
    named.map(({ event }) => Number(event ?? 0)),
    named.map(({ call_id: call }) => `{"callId":${JSON.stringify(call)},`),
  ]);
  const found = new Map(rows.map((row) => [row.name, callOf(row)]));
  return (call) => found.get(nameOf(call)) ?? { is: 'unknown' };
}

function callOf({ there, run_key: key, erased, removed, event }: CallRow): LoggedCall {
  if (!there) return { is: removed ? 'removed' : 'unknown' };
  if (key === null) return erased ? { is: 'erased' } : { is: 'broken', what: 'the key of its payloads was removed' };
  if (event === null) return { is: 'open' };
  // What is no JSON any more is no payload either.
  const logged = eventWith(event, jsonOrNull(event.data ?? 'null'));
  const isAsHashed =
    logged.hash === eventHash(logged) && dataHash(key, logged.seq, event.data ?? '') === logged.dataHash;
  const parsed = EVENT_DATA['call.finished'].safeParse(logged.data);
  if (!isAsHashed || !parsed.success) return { is: 'broken', what: `event ${logged.seq} does not fit its own hashes` };
  const { outcome } = parsed.data;
  if (outcome.type === 'refused') return { is: 'ended', refused: true, note: null };
  return { is: 'ended', refused: false, note: outcome.memory ?? null };
}

/** The writes that runs made in calls, by run and call. */
async function writesOfCalls(
  db: Knex,
  calls: readonly NamedCall[],
): Promise<(call: NamedCall) => readonly WriteText[]> {
  const named = [...new Map(calls.map((call) => [nameOf(call), call])).values()];
  const { rows }: { rows: { run: string; call: string; write: string }[] } = await db.raw(
    `select w.run_id as run, n.call, ${WRITE_TEXT} as write from unnest(?::text[], ?::text[]) as n (run, call)
       join holdfast.memory_writes w on w.run_id = n.run and substr(w.call_key, position(':' in w.call_key) + 1) = n.call`,
    [named.map(({ run_id: run }) => run ?? ''), named.map(({ call_id: call }) => call ?? '')],
  );
  const found = new Map<string, WriteText[]>();
  for (const { run, call, write } of rows) {
    const of = found.get(`${run}:${call}`) ?? [];
    found.set(`${run}:${call}`, of);
    // What the database wrote as JSON, from columns that are named here.
    of.push(JSON.parse(write) as WriteText);
  }
  return (call) => found.get(nameOf(call)) ?? [];
}
