import type { AgentDefinition, AgentDetail } from '../../core/agents/agent-view.js';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { jsonObject, sha256 } from '../../core/json.js';
import { findDefinition, listDefinitions } from '../../storage/agents/agents.js';
import type { EngineContext } from '../engine-context.js';
import { withMarks } from './list-agents.js';

const SHOWN = 100;

const named = (name: string): string => `There is no agent ${JSON.stringify(name)}`;

/** An agent of the configuration. Throws `agent_unknown`. */
export async function getAgent(
  { stepContext: { knex }, agents }: EngineContext,
  name: string,
  { tenant }: Caller,
): Promise<AgentDetail> {
  const registered = agents.get(name);
  if (registered === undefined) throw new HoldfastError('agent_unknown', `${named(name)}.`);
  const [view] = await withMarks(knex, tenant, [registered]);
  if (view === undefined) throw new HoldfastError('agent_unknown', `${named(name)}.`);
  const rows = await listDefinitions(knex, { tenant, name, limit: SHOWN });
  return {
    ...view,
    definition: jsonObject.parse(JSON.parse(registered.definition)),
    definitions: rows.map((row) => ({
      ...{ hash: row.definition_hash, version: row.version, firstSeenAt: row.created_at.toISOString() },
    })),
  };
}

/** A definition that runs of an agent have had. Throws `agent_unknown`, and `row_changed` where it is not what its hash says. */
export async function getDefinition(
  { stepContext: { knex } }: EngineContext,
  name: string,
  hash: string,
  { tenant }: Caller,
): Promise<AgentDefinition> {
  const row = await findDefinition(knex, { tenant, name, definition_hash: hash });
  if (row === undefined)
    throw new HoldfastError('agent_unknown', `${named(name)} with a run that has had the definition ${hash}.`);
  if (sha256(row.definition) !== hash)
    throw new HoldfastError(
      'row_changed',
      `The definition ${hash} of the agent ${name} is not shown: its row was changed in the database.`,
    );
  const definition = jsonObject.parse(JSON.parse(row.definition));
  return { hash, version: row.version, firstSeenAt: row.created_at.toISOString(), definition };
}
