import type { Knex } from 'knex';
import type { Rows } from '../database/columns.js';

/** Keeps an agent as it is, so that a run says exactly what ran. The same definition again writes nothing. */
export async function saveAgent(
  db: Knex,
  agent: {
    readonly tenant: string;
    readonly name: string;
    readonly version: string;
    readonly definitionHash: string;
    readonly definition: string;
  },
): Promise<void> {
  await db('holdfast.agents')
    .insert({
      tenant: agent.tenant,
      name: agent.name,
      version: agent.version,
      definition_hash: agent.definitionHash,
      definition: agent.definition,
    })
    .onConflict(['tenant', 'name', 'definition_hash'])
    .ignore();
}

export interface DefinitionRow {
  readonly version: string;
  readonly definition_hash: string;
  readonly definition: string;
  readonly created_at: Date;
}

type ListedDefinition = Omit<DefinitionRow, 'definition'> & { readonly tenant?: string; readonly name?: string };

/** The definitions of an agent that runs of a tenant have had, newest first, without their content. */
export const listDefinitions = (
  db: Knex,
  { tenant, name, limit }: { readonly tenant: string; readonly name: string; readonly limit: number },
): Rows<ListedDefinition> =>
  db<ListedDefinition, ListedDefinition[]>('holdfast.agents')
    .where({ tenant, name })
    .orderBy([
      { column: 'created_at', order: 'desc' },
      { column: 'definition_hash', order: 'desc' },
    ])
    .limit(limit)
    .select('version', 'definition_hash', 'created_at');

export const findDefinition = (
  db: Knex,
  of: { readonly tenant: string; readonly name: string; readonly definition_hash: string },
): Promise<DefinitionRow | undefined> =>
  db<DefinitionRow>('holdfast.agents').where(of).first('version', 'definition_hash', 'definition', 'created_at');
