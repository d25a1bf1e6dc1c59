import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type {
  DocumentName,
  ForgottenView,
  MemoryDocumentView,
  MemoryEntry,
  MemorySpaceView,
} from '../../core/memory/memory-view.js';
import type { Page } from '../../core/page.js';
import { changesOf } from '../../storage/memory/changes.js';
import {
  type DocumentFilter,
  forgetDocument,
  listDocuments,
  readDocument,
  spacesOf,
} from '../../storage/memory/lists.js';
import type { EngineContext } from '../engine-context.js';

type NamedDocument = DocumentName & { readonly space: string };

const unknown = ({ space, owner, key }: NamedDocument): HoldfastError =>
  new HoldfastError(
    'memory_unknown',
    `There is no document ${JSON.stringify(key)} of ${owner === '' ? 'the tenant' : JSON.stringify(owner)} in ${space}.`,
  );

/** What clients ask of memory. */
export const MEMORY_OPERATIONS = {
  /** The spaces of the configuration and its agents, and those with documents. */
  listMemorySpaces: async (
    { stepContext: { knex }, agents, memorySpaces }: EngineContext,
    { tenant }: Caller,
  ): Promise<{ readonly items: MemorySpaceView[] }> => {
    const found = await spacesOf(knex, tenant);
    const known = new Set(found.map(({ space }) => space));
    const declared = [...memorySpaces, ...[...agents.values()].flatMap(({ memory }) => [...(memory?.values() ?? [])])];
    const empty = new Map(declared.filter(({ name }) => !known.has(name)).map((one) => [one.name, one]));
    const others = [...empty.values()].map(({ name, scope }) => ({
      space: name,
      scope,
      documents: 0,
      changedAt: null,
    }));
    return { items: [...found, ...others].sort((a, b) => (a.space < b.space ? -1 : 1)) };
  },
  /** Documents of a space, by owner and key. */
  listMemory: async (
    { stepContext: { knex, memory } }: EngineContext,
    space: string,
    filter: Omit<DocumentFilter, 'tenant' | 'space'>,
    { tenant }: Caller,
  ): Promise<Page<MemoryEntry>> => {
    const { items, nextCursor } = await listDocuments(knex, { tenant, space, ...filter });
    const integrityOf = await memory.falseIn(knex, { tenant, space }, items);
    return { items: items.map((one) => ({ ...one, integrity: integrityOf(one) })), nextCursor };
  },
  /** A document with its history. Throws `memory_unknown`. */
  getMemory: async (
    { stepContext: { knex, memory } }: EngineContext,
    name: NamedDocument,
    { after, limit }: { readonly after: number; readonly limit: number },
    { tenant }: Caller,
  ): Promise<MemoryDocumentView> => {
    const place = { tenant, space: name.space, owner: name.owner, key: name.key };
    const document = await readDocument(knex, place);
    if (document === null) throw unknown(name);
    const made = await changesOf(knex, place, { after, limit: limit + 1 });
    const history = made.slice(0, limit).map(({ ops, at, ...change }) => ({
      ...{ version: change.version, base: change.base, changes: [...ops], runId: change.runId, callId: change.callId },
      ...{ event: change.event, agent: change.agent, actors: [...change.actors] },
      ...{ derivedFrom: [...change.derivedFrom], labels: [...change.labels], at: at.toISOString() },
    }));
    const versions = history.map(({ version }) => version);
    const integrityOf = await memory.falseIn(knex, place, [place]);
    const found = [...integrityOf(place), ...(await memory.falseChanges(knex, place, versions))];
    const integrity = [...new Map(found.map((one) => [`${one.row} ${one.column}`, one])).values()].slice(0, 20);
    return { ...document, history, more: made.length > limit, integrity };
  },
  /** Removes a document with its history, for good. Throws `memory_unknown`. */
  forgetMemory: async (
    { stepContext: { knex } }: EngineContext,
    name: NamedDocument,
    { tenant }: Caller,
  ): Promise<ForgottenView> => {
    const { space, owner, key } = name;
    const version = await forgetDocument(knex, { tenant, space, owner, key });
    if (version === null) throw unknown(name);
    return { space, owner, key, version };
  },
};
