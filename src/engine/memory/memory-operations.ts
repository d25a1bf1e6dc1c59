import { embedQuery } from '../../../steps/memory/embed.js';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { plainText } from '../../core/json.js';
import type {
  DocumentName,
  ForgetDocument,
  ForgottenView,
  MemoryDocumentView,
  MemoryEntry,
  MemorySpaceView,
} from '../../core/memory/memory-view.js';
import type { Page } from '../../core/page.js';
import { alsoUnread } from '../../storage/database/legible-rows.js';
import { shownChangesOf } from '../../storage/memory/changes.js';
import { deleteDocument } from '../../storage/memory/documents.js';
import { type DocumentFilter, listDocuments, listNearest, readDocument, spacesOf } from '../../storage/memory/lists.js';
import { unembeddedOf } from '../../storage/memory/vectors.js';
import type { EngineContext } from '../engine-context.js';
import { declaredSpaces, embeddingSpaces } from './embed-documents.js';

type NamedDocument = DocumentName & { readonly space: string };

const unknown = ({ space, owner, key }: NamedDocument): HoldfastError =>
  new HoldfastError(
    'memory_unknown',
    `There is no document ${JSON.stringify(key)} of ${owner === '' ? 'the tenant' : JSON.stringify(owner)} in ${space}.`,
  );

/** One page: the nearest documents have no order in which a list could go on. */
async function nearest(context: EngineContext, filter: DocumentFilter, text: string) {
  const { space, q, cursor } = filter;
  const other = q !== undefined ? 'q' : cursor !== undefined ? 'cursor' : null;
  if (other !== null)
    throw new HoldfastError('invalid_request', `The parameters near and ${other} do not go together.`, {
      fields: [{ pointer: `/${other}`, detail: 'leave it out beside near' }],
    });
  const found = embeddingSpaces(context).find(({ name }) => name === space);
  if (found === undefined)
    throw new HoldfastError('memory_invalid', `The space ${space} has no embedding, so that nothing is near.`, {
      hint: 'Search for words (q), or declare an embedding model: docs/agents/memory-by-meaning.md.',
    });
  const { knex, embeddings, signs } = context.stepContext;
  const vector = await embedQuery(embeddings, found.embedding, text);
  return { items: await listNearest({ db: knex, signs }, filter, found.embedding, vector), nextCursor: null };
}

/** What clients ask of memory. */
export const MEMORY_OPERATIONS = {
  /** The spaces of the configuration and its agents, and those with documents. */
  listMemorySpaces: async (
    context: EngineContext,
    { tenant }: Caller,
  ): Promise<{ readonly items: MemorySpaceView[] }> => {
    const { knex } = context.stepContext;
    const found = await spacesOf(knex, tenant);
    const known = new Set(found.map(({ space }) => space));
    const others = declaredSpaces(context)
      .filter(({ name }) => !known.has(name))
      .map(({ name, scope }) => ({ space: name, scope, documents: 0, changedAt: null }));
    const embedding = new Set(embeddingSpaces(context).map(({ name }) => name));
    const without = embedding.size === 0 ? new Map<string, number>() : await unembeddedOf(knex, tenant);
    return {
      items: [...found, ...others]
        .sort((a, b) => (a.space < b.space ? -1 : 1))
        .map((one) => (embedding.has(one.space) ? { ...one, withoutVector: without.get(one.space) ?? 0 } : one)),
    };
  },
  /** Documents of a space, by owner and key; with `near` by meaning. Throws `memory_invalid` and `model_failed`. */
  listMemory: async (
    context: EngineContext,
    space: string,
    { near, ...filter }: Omit<DocumentFilter, 'tenant' | 'space'> & { readonly near?: string },
    { tenant }: Caller,
  ): Promise<Page<MemoryEntry>> => {
    const { knex, memory } = context.stepContext;
    const asked = { tenant, space, ...filter };
    const { items, nextCursor } =
      near === undefined ? await listDocuments(knex, asked) : await nearest(context, asked, near);
    const integrityOf = await memory.falseIn(knex, { tenant, space }, items);
    return {
      items: items.map(({ unread, ...one }) => ({ ...one, integrity: alsoUnread(integrityOf(one), unread) })),
      nextCursor,
    };
  },
  /** A document with its history. Throws `memory_unknown`. */
  getMemory: async (
    { stepContext: { knex, memory } }: EngineContext,
    name: NamedDocument,
    { after, limit }: { readonly after: number; readonly limit: number },
    { tenant }: Caller,
  ): Promise<MemoryDocumentView> => {
    const place = { tenant, space: name.space, owner: name.owner, key: name.key };
    const found = await readDocument(knex, place);
    if (found === null) throw unknown(name);
    const { unread, ...document } = found;
    const made = await shownChangesOf(knex, place, { after, limit: limit + 1 });
    const history = made.slice(0, limit).map(({ change: { ops, at, ...change } }) => ({
      ...{ version: change.version, base: change.base, changes: [...ops], runId: change.runId, callId: change.callId },
      ...{ event: change.event, agent: change.agent, actors: [...change.actors] },
      ...{ derivedFrom: [...change.derivedFrom], labels: [...change.labels], at },
    }));
    const versions = history.map(({ version }) => version);
    const integrityOf = await memory.falseIn(knex, place, [place]);
    const changed = [...integrityOf(place), ...(await memory.falseChanges(knex, place, versions))];
    const all = [...unread, ...made.slice(0, limit).flatMap((one) => one.unread), ...changed];
    const integrity = [...new Map(all.map((one) => [`${one.row} ${one.column}`, one])).values()].slice(0, 20);
    return { ...document, history, more: made.length > limit, integrity };
  },
  /** Removes a document with its history, for good, and enters that into the log over all runs. Throws `memory_unknown`. */
  forgetMemory: async (
    { stepContext: { knex, memory } }: EngineContext,
    { reason, ...name }: NamedDocument & Pick<ForgetDocument, 'reason'>,
    { tenant, actor }: Caller,
  ): Promise<ForgottenView> => {
    const { space, owner, key } = name;
    const by = { actor, reason: plainText(reason ?? 'Someone asked for it') };
    return knex.transaction(async (trx) => {
      const gone = await deleteDocument(trx, { tenant, space, owner, key });
      if (gone === null) throw unknown(name);
      await memory.enterForgotten(trx, [gone], by);
      return { space, owner, key, version: gone.version };
    });
  },
};
