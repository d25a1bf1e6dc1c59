import type { Knex } from 'knex';

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
