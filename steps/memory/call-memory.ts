import type { Knex } from 'knex';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { type JsonObject, type JsonValue, sha256 } from '../../src/core/json.js';
import type { StateOp } from '../../src/core/tools/agent-state.js';
import {
  additionsOf,
  assertChanges,
  assertDocument,
  assertFewChanges,
  assertShortHistory,
  changeShape,
  memoryKey,
  memoryValue,
  parsedAs,
  queryShape,
  writeShape,
} from '../../src/core/tools/memory-change.js';
import { assertExtending } from '../../src/core/tools/memory-kinds.js';
import type { MemorySpace } from '../../src/core/tools/memory-space.js';
import {
  MEMORY_LIMITS,
  type MemoryDocument,
  type MemoryNote,
  type MemoryRef,
  noMemory,
  type RecalledDocuments,
  type ToolMemory,
  type TrustLabel,
} from '../../src/core/tools/tool-memory.js';
import { withoutKnownSecretsIn } from '../../src/models/secrets/known-secrets.js';
import { claimWrite, endWrite, frontiersOf, insertChange, type WriteName } from '../../src/storage/memory/changes.js';
import { CrdtDocument } from '../../src/storage/memory/crdt-document.js';
import {
  type DocumentPlace,
  type DocumentRow,
  deleteDocument,
  documentOf,
  EXPIRED,
  type GoneDocument,
  insertDocument,
  labelsOf,
  labelsOfDocuments,
  lockDocument,
  ownerOf,
  updateDocument,
} from '../../src/storage/memory/documents.js';
import { type WriteEvidence, writeEvidence } from '../../src/storage/memory/evidence-rows.js';
import type { StepContext } from '../context.js';
import { transact, withDatabaseRetry } from '../database-retry.js';
import { findKeys } from './find-keys.js';

/** Why a document is gone that a call removed, for the signed log. */
const FORGOT = 'A call of the run forgot it';
/** Numbers of writes between two waits of a call. */
const WRITES_PER_WAIT = 100_000;

/** The memory of a run as a call finds it. */
export interface FoundMemory {
  /** The spaces that the agent declares, by name. */
  readonly spaces: ReadonlyMap<string, MemorySpace>;
  /** The agent of the run: owner of what has the scope of an agent. */
  readonly agent: string;
  readonly sessionId: string | null;
  /** Who asked for the run. */
  readonly requesters: () => Promise<readonly string[]>;
  /** What the run had to do with memory before the call. */
  readonly read: readonly MemoryRef[];
  readonly labels: readonly TrustLabel[];
}

/** What the memory of a call needs of the call. */
interface MemoryCall {
  readonly intent: { readonly runId: string; readonly callId: string; readonly tenant: string };
  /** The agent that made the call. */
  readonly agent: string;
  /** Null: its run has none. */
  readonly memory: FoundMemory | null;
  readonly require: (capability: string) => void;
  readonly position: () => Promise<number>;
  readonly spec: { readonly label?: TrustLabel };
}

/** Hears what the call does to memory. */
interface Notes {
  readonly note: (note: MemoryNote) => void;
  readonly assertOpen: () => void;
  readonly writing: <T>(write: Promise<T>) => Promise<T>;
}

/** A write of a call: what it makes of a document. */
interface Write {
  readonly space: MemorySpace;
  readonly key: string;
  readonly derivedFrom: readonly MemoryRef[];
  /** The version that it is made for; undefined: the present one. */
  readonly version: number | undefined;
  /** Whether it makes a document where there is none. */
  readonly makes: boolean;
  readonly opsOn: (value: JsonObject) => readonly StateOp[];
}

/**
 * The memory of a run as one call of it has it. Each write is made once: the n-th of a call is known by n, so that one that is executed
 * again, after a crash, finds what it has made. The key is the same at every execution of the call, also in a fork that took it over. What
 * its tool writes after a wait has numbers of its own.
 */
export function memoryOfCall(
  ctx: Pick<StepContext, 'knex' | 'memory' | 'embeddings' | 'signs'>,
  call: MemoryCall,
  { key: callKey, waits }: { readonly key: string; readonly waits: number },
  notes: Notes,
): ToolMemory {
  const { memory: found, agent, spec } = call;
  const { note, assertOpen, writing } = notes;
  const { runId, callId, tenant } = call.intent;
  if (found === null || found.spaces.size === 0) return noMemory(`The agent ${agent}`);
  let writes = waits * WRITES_PER_WAIT;
  const nextWrite = (): WriteName => {
    if (writes - waits * WRITES_PER_WAIT >= MEMORY_LIMITS.writes)
      throw new HoldfastError(
        'memory_invalid',
        `The call has made its ${MEMORY_LIMITS.writes} writes. Write the rest in another call.`,
      );
    return { call_key: callKey, n: writes++ };
  };
  const read: MemoryRef[] = [];
  const labels = new Set<TrustLabel>([...found.labels, ...(spec.label === undefined ? [] : [spec.label])]);

  const declared = (name: string): MemorySpace => {
    const space = found.spaces.get(name);
    if (space !== undefined) return space;
    const known = [...found.spaces.keys()].join(', ');
    throw new HoldfastError('memory_unknown', `There is no memory space ${JSON.stringify(name)}. Known: ${known}.`);
  };
  const open = (action: 'read' | 'write', name: string): MemorySpace => {
    assertOpen();
    const space = declared(name);
    call.require(`memory:${action}:${name}`);
    return space;
  };
  const placeOf = async (space: MemorySpace, db: Knex = ctx.knex) => ({
    ...{ tenant, space: space.name },
    owner: await ownerOf(db, space, { runId, agent: found.agent, sessionId: found.sessionId }),
  });

  /** Labels of documents that a call says to follow from, whether it has read them or not. */
  const labelsStated = async (trx: Knex.Transaction, refs: readonly MemoryRef[]): Promise<readonly TrustLabel[]> => {
    const places = refs.map(async (ref) => ({ ...(await placeOf(declared(ref.space), trx)), key: ref.key }));
    return labelsOfDocuments(trx, await Promise.all(places));
  };

  const recalled = (
    items: readonly MemoryDocument[],
    left: Pick<RecalledDocuments, 'olderLeft' | 'wordsOnly'>,
  ): RecalledDocuments => {
    const refs = items.map(({ space, key, version }) => ({ space, key, version }));
    read.push(...refs);
    for (const item of items) for (const label of item.labels) labels.add(label);
    note({ read: refs, labels: [...new Set(items.flatMap((item) => item.labels))] });
    return Object.assign([...items], left);
  };

  const write = (one: Write): Promise<MemoryRef> => writing(writeNext(one));
  const writeNext = async (one: Write): Promise<MemoryRef> => {
    const name = nextWrite();
    // What it was derived from is what was read by now, whenever the statement comes.
    const provenance = {
      ...{ runId, callId, agent, event: await call.position() },
      actors: await withDatabaseRetry(found.requesters),
      derivedFrom: distinct([...found.read, ...read, ...one.derivedFrom]),
      labels: [...labels],
    };
    const version = await transact(ctx, async (trx) => {
      const place = { ...(await placeOf(one.space, trx)), key: one.key };
      const before = await claimWrite(trx, name, { run_id: runId, tenant });
      if (before !== null) return before;
      const labelled = [...new Set([...provenance.labels, ...(await labelsStated(trx, one.derivedFrom))])];
      const { made, expired } = await writeOnce(trx, ctx, place, one, { ...provenance, labels: labelled });
      await endWrite(trx, name, made);
      await ctx.memory.enterForgotten(trx, expired, EXPIRED);
      // It began before the end of the call, and the log would not know of it.
      assertOpen();
      return made.version;
    });
    const ref = { space: one.space.name, key: one.key, version };
    note({ wrote: [ref] });
    return ref;
  };

  return {
    remember: async (name, given, options = {}) => {
      const space = open('write', name);
      const value = memoryValue(withoutKnownSecretsIn(memoryValue(given)));
      const { key = ownKey(callKey, writes), derivedFrom = [] } = parsedAs(writeShape, 'The write', options);
      assertOpenKey(key);
      const opsOn = (present: JsonObject) => additionsOf(present, value);
      return write({ space, key, derivedFrom, version: undefined, makes: true, opsOn });
    },
    recall: async (name, options = {}) => {
      const space = open('read', name);
      const query = parsedAs(queryShape, 'The query', options);
      const place = await withDatabaseRetry(() => placeOf(space));
      const { keys, ...left } = await findKeys(ctx, { place, space }, query);
      return recalled(await withDatabaseRetry(() => ctx.memory.proven(ctx.knex, place, keys)), left);
    },
    revise: async (name, key, options) => {
      const space = open('write', name);
      assertOpenKey(key);
      const { version, derivedFrom = [], changes } = parsedAs(changeShape, 'The change', options);
      const { changes: ops } = parsedAs(changeShape, 'The change', {
        changes: withoutKnownSecretsIn(changes as readonly JsonValue[]),
      });
      return write({ space, key, derivedFrom, version, makes: false, opsOn: () => ops });
    },
    forget: async (name, key) => {
      const space = open('write', name);
      assertOpenKey(key);
      const writeName = nextWrite();
      const forgotten = await writing(transact(ctx, (trx) => forgetOnce(trx, writeName)));
      note({ wrote: [{ space: name, key, version: 0 }] });
      return forgotten;

      async function forgetOnce(trx: Knex.Transaction, id: WriteName): Promise<boolean> {
        const place = { ...(await placeOf(space, trx)), key };
        const before = await claimWrite(trx, id, { run_id: runId, tenant });
        if (before !== null) return before > 0;
        const was = await deleteDocument(trx, place);
        const made = { version: was === null ? 0 : 1, document: was?.id ?? null, change: null, state: null };
        await endWrite(trx, id, made);
        if (was !== null) await ctx.memory.enterForgotten(trx, [was], { actor: runId, reason: FORGOT });
        assertOpen();
        return was !== null;
      }
    },
  };
}

interface Written {
  readonly made: WriteEvidence;
  /** The document that was there, whose time was over. */
  readonly expired: readonly GoneDocument[];
}

/** Changes a document under its lock. Gives what is kept of it. Throws `row_changed` where someone else has changed the document. */
async function writeOnce(
  trx: Knex.Transaction,
  { memory }: Pick<StepContext, 'memory'>,
  place: DocumentPlace,
  { space, key, version: seen, makes, opsOn }: Write,
  provenance: Omit<Parameters<typeof insertChange>[2], 'version' | 'base' | 'ops' | 'frontiers'>,
): Promise<Written> {
  const { row, expired } = await heldDocument(trx, place, space, makes);
  if (row.version > 0) await memory.proven(trx, place, [key]);
  const present = row.version === 0 ? {} : documentOf(row).value;
  const ops = opsOn(present);
  if (ops.length === 0 && row.version > 0)
    return { made: { version: row.version, document: null, change: null, state: null }, expired };
  if (seen !== undefined && seen > row.version)
    throw new HoldfastError('memory_unknown', `The document ${JSON.stringify(key)} has no version ${seen} yet.`);
  assertChanges(present, ops);
  const base = seen ?? row.version;
  const version = row.version + 1;
  assertFewChanges(key, version);
  const document = row.version === 0 ? await CrdtDocument.empty() : await CrdtDocument.load(row.document);
  const at = base === row.version ? null : await frontiersOf(trx, place, base);
  assertExtending(at === null ? present : document.valueAt(at), ops);
  document.change(ops, version, at);
  const { value } = document;
  assertDocument(space, key, value);
  const labels = [...new Set([...labelsOf(row), ...provenance.labels])].sort();
  const state = { version, value, labels, document: document.bytes };
  assertShortHistory(key, state.document.length);
  await updateDocument(trx, place, state, { days: space.days, embeds: space.embedding !== null });
  await insertChange(trx, place, { ...provenance, version, base, ops, frontiers: document.frontiers });
  document.free();
  return { made: await writeEvidence(trx, place, version), expired };
}

/** Throws `memory_unknown` where there is none, and none is to be made. */
async function heldDocument(
  trx: Knex.Transaction,
  place: DocumentPlace,
  { scope }: MemorySpace,
  makes: boolean,
): Promise<{ readonly row: DocumentRow; readonly expired: readonly GoneDocument[] }> {
  const { tenant, space, owner, key } = place;
  const { row: held, expired } = await livingDocument(trx, place);
  if (held !== null) return { row: held, expired };
  if (makes) {
    await insertDocument(trx, { tenant, space, owner, key, scope });
    const made = await lockDocument(trx, place);
    if (made !== undefined) return { row: made, expired };
  }
  throw new HoldfastError('memory_unknown', `There is no document ${JSON.stringify(key)} in ${space}.`);
}

/** One whose time is over is removed: what comes after it is another document. */
async function livingDocument(
  trx: Knex.Transaction,
  place: DocumentPlace,
): Promise<{ readonly row: DocumentRow | null; readonly expired: readonly GoneDocument[] }> {
  const row = await lockDocument(trx, place);
  if (row === undefined) return { row: null, expired: [] };
  const over: boolean =
    (await trx.raw('select ?::timestamptz <= now() as over', [row.expires_at])).rows[0].over ?? false;
  if (!over) return { row, expired: [] };
  const gone = await deleteDocument(trx, place);
  return { row: null, expired: gone === null ? [] : [gone] };
}

/** Refuses a key that is none, or that holds a secret: keys are shown to everyone, and stand in logs. Throws `memory_invalid`. */
function assertOpenKey(key: string): void {
  parsedAs(memoryKey, 'The key', key);
  if (withoutKnownSecretsIn(key) === key) return;
  throw new HoldfastError('memory_invalid', 'The key holds a secret. Use a key that anyone may read.');
}

/** A key that no one gave: the same at every execution of the call. */
const ownKey = (callKey: string, n: number): string => `m_${sha256(`${callKey}#${n}`).slice(0, 24)}`;

function distinct(refs: readonly MemoryRef[]): readonly MemoryRef[] {
  const byName = new Map(refs.map((ref) => [JSON.stringify([ref.space, ref.key]), ref]));
  return [...byName.values()].slice(-32);
}
