import type { Knex } from 'knex';
import { z } from 'zod';
import { canonical } from '../../core/json.js';
import { listDigest, type McpDefinition, mcpDefinition } from '../../core/tools/mcp.js';
import { readJson } from '../database/stored-json.js';

/** The tool list of a server that a run was given, by its digest, and the segment in which it was. */
export interface McpPin {
  readonly digest: string;
  readonly segment: number;
}

export async function readPin(db: Knex, runId: string, server: string): Promise<McpPin | null> {
  const row: McpPin | undefined = await db('holdfast.mcp_pins')
    .where({ run_id: runId, server })
    .first('digest', 'segment');
  return row ?? null;
}

/** Keeps a list, and holds it until the transaction ends: an erasure may take one that no run has. */
async function keepList(
  trx: Knex.Transaction,
  list: { readonly tenant: string; readonly digest: string; readonly definitions: string },
): Promise<void> {
  const { tenant, digest } = list;
  let held: object | undefined;
  while (held === undefined) {
    await trx('holdfast.mcp_lists').insert(list).onConflict(['tenant', 'digest']).ignore();
    held = await trx('holdfast.mcp_lists').where({ tenant, digest }).forKeyShare().first('digest');
  }
}

/** Gives a run the tool list of a server, for good: the first one stands, and is what comes back. */
export async function pinList(
  trx: Knex.Transaction,
  run: { readonly id: string; readonly tenant: string; readonly segment: number },
  server: string,
  definitions: readonly McpDefinition[],
): Promise<McpPin> {
  const digest = listDigest(definitions);
  await keepList(trx, { tenant: run.tenant, digest, definitions: canonical(definitions) });
  await trx('holdfast.mcp_pins')
    .insert({ run_id: run.id, server, tenant: run.tenant, digest, segment: run.segment })
    .onConflict(['run_id', 'server'])
    .ignore();
  return (await readPin(trx, run.id, server)) ?? { digest, segment: run.segment };
}

/** The definitions of a list; null: there is no such list. A list never changes. */
export async function readList(db: Knex, tenant: string, digest: string): Promise<McpDefinition[] | null> {
  const row: { definitions: string } | undefined = await db('holdfast.mcp_lists')
    .where({ tenant, digest })
    .first('definitions');
  return row === undefined
    ? null
    : readJson(z.array(mcpDefinition), row.definitions, { table: 'mcp_lists', row: digest, column: 'definitions' });
}

/** Gives a fork the lists of the servers that the log which it begins with names. */
export async function copyPins(
  trx: Knex.Transaction,
  from: string,
  to: string,
  servers: readonly string[],
): Promise<void> {
  const pins: McpPin[] = await trx('holdfast.mcp_pins')
    .where({ run_id: from })
    .whereIn('server', [...servers])
    .select('server', 'tenant', 'digest', 'segment');
  if (pins.length > 0) await trx('holdfast.mcp_pins').insert(pins.map((pin) => ({ ...pin, run_id: to })));
}

/** Takes the lists of a run from it. A list that no other run was given goes. */
export async function forgetPins(trx: Knex.Transaction, runId: string): Promise<void> {
  const pins: { tenant: string; digest: string }[] = await trx('holdfast.mcp_pins')
    .where({ run_id: runId })
    .delete()
    .returning(['tenant', 'digest']);
  const [pin] = pins;
  if (pin === undefined) return;
  const lists = () =>
    trx('holdfast.mcp_lists')
      .where({ tenant: pin.tenant })
      .whereIn(
        'digest',
        pins.map(({ digest }) => digest),
      );
  // A statement of its own: the next one sees the pin of a transaction that held the lock.
  await lists().orderBy('digest').forUpdate().select('digest');
  await lists()
    .whereNotExists(
      trx('holdfast.mcp_pins as p')
        .whereRaw('p.tenant = mcp_lists.tenant and p.digest = mcp_lists.digest')
        .select(trx.raw('1')),
    )
    .delete();
}
