import type { Knex } from 'knex';
import pRetry, { AbortError } from 'p-retry';
import { type ErrorView, HoldfastError } from '../../src/core/errors/errors.js';
import { changesOf, type McpChange, type McpDefinition } from '../../src/core/tools/mcp.js';
import { type McpPin, pinList, readList, readPin } from '../../src/storage/agents/mcp-lists.js';
import type { McpLists, StepContext } from '../context.js';
import { transact, withDatabaseRetry } from '../database-retry.js';
import { type Halt, haltOf } from './call-model.js';

export type Pinned =
  | {
      readonly type: 'pinned';
      readonly digest: string;
      /** The run was given the list in this segment. */
      readonly fresh: boolean;
      /** How the list of the server differs now; empty as well when the server is down, which only a call finds out. */
      readonly changes: readonly McpChange[];
    }
  | { readonly type: 'failed'; readonly error: ErrorView }
  | Halt;

/** The lists that a database holds. */
export const storedLists = (knex: Knex): McpLists => ({
  pinned: async (runId, server) => (await withDatabaseRetry(() => readPin(knex, runId, server)))?.digest ?? null,
  definitions: (tenant, digest) => withDatabaseRetry(() => readList(knex, tenant, digest)),
});

const ATTEMPTS = 4;

/**
 * Gives a run the tool list of a server the first time that it is asked for, and compares it with what the server lists
 * from then on. Executing it again gives the same list: the first one stands in the database.
 */
export async function pinMcpTools(
  ctx: StepContext,
  run: { readonly id: string; readonly tenant: string; readonly segment: number },
  server: string,
  list: () => Promise<McpDefinition[]>,
  signal: AbortSignal,
): Promise<Pinned> {
  const pin = await withDatabaseRetry(() => readPin(ctx.knex, run.id, server));
  if (pin !== null) return compare(ctx, run, pin, list);
  let definitions: McpDefinition[];
  try {
    definitions = await persistently(list, signal);
  } catch (error) {
    if (signal.aborted) return haltOf(signal);
    return { type: 'failed', error: viewOf(error) };
  }
  const { digest } = await transact(ctx, (trx) => pinList(trx, run, server, definitions));
  return { type: 'pinned', digest, fresh: true, changes: [] };
}

async function compare(
  ctx: StepContext,
  run: { readonly tenant: string; readonly segment: number },
  { digest, segment }: McpPin,
  list: () => Promise<McpDefinition[]>,
): Promise<Pinned> {
  const given = (await withDatabaseRetry(() => readList(ctx.knex, run.tenant, digest))) ?? [];
  const now = await list().catch(() => given);
  return { type: 'pinned', digest, fresh: segment === run.segment, changes: changesOf(given, now) };
}

/** A server that starts with us may take a moment. A list that cannot be used will not get better. */
const persistently = (list: () => Promise<McpDefinition[]>, signal: AbortSignal): Promise<McpDefinition[]> =>
  pRetry(
    async () => {
      try {
        return await list();
      } catch (error) {
        const isTransient = error instanceof HoldfastError && error.code === 'mcp_unreachable';
        throw isTransient ? error : new AbortError(error instanceof Error ? error : new Error(String(error)));
      }
    },
    { retries: ATTEMPTS - 1, minTimeout: 200, maxTimeout: 2000, randomize: true, signal },
  );

const viewOf = (error: unknown): ErrorView =>
  error instanceof HoldfastError
    ? error.view()
    : new HoldfastError('mcp_unreachable', error instanceof Error ? error.message : String(error)).view();
