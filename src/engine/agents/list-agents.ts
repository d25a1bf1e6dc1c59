import type { AgentDefinition, AgentDetail, AgentView } from '../../core/agents/agent-view.js';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { jsonObject, sha256 } from '../../core/json.js';
import type { Page, PageOf } from '../../core/page.js';
import { type DefinitionRow, findDefinition, listDefinitions } from '../../storage/agents/agents.js';
import { legibleRows, viewOfRow } from '../../storage/database/legible-rows.js';
import { marksAmong } from '../../storage/replay/tool-marks.js';
import { PAGE_BYTES } from '../../storage/runs/page-rows.js';
import { toolSpecOf } from '../../tools/define/define-tool.js';
import { reachableAgents } from '../../tools/define/reachable-agents.js';
import type { EngineContext } from '../engine-context.js';
import type { RegisteredAgent } from './agent-registry.js';

/** A tool as it is declared now. */
export interface ToolVersion {
  readonly tool: string;
  readonly toolVersion: string;
  readonly deterministic: boolean;
}

/** The tools of an agent and of those that it can hand over to. */
export const toolVersionsOf = ({ agent }: Pick<RegisteredAgent, 'agent'>): ToolVersion[] =>
  reachableAgents(agent).flatMap(({ tools }) =>
    tools.flatMap((tool) => {
      if (tool.type !== 'function') return [];
      const { name, version, deterministic } = toolSpecOf(tool);
      return [{ tool: name, toolVersion: version, deterministic }];
    }),
  );

/** The agents of the configuration in its order, with what replays have found of their tools. Throws `invalid_request`. */
export async function listAgents(
  { stepContext, agents }: EngineContext,
  { limit, cursor }: PageOf,
  { tenant }: Caller,
): Promise<Page<AgentView>> {
  const all = [...agents.values()];
  const after = cursor === undefined ? null : Buffer.from(cursor, 'base64url').toString('utf8');
  const place = all.findIndex(({ name }) => name === after);
  if (after !== null && place < 0)
    throw new HoldfastError('invalid_request', 'The cursor is not one that a list of this server gave.', {
      fields: [{ pointer: '/cursor', detail: 'use nextCursor of the page before' }],
    });
  const left = all.slice(place + 1);
  const page = pageOf(left, limit);
  const items = await withMarks(stepContext.knex, tenant, page);
  const last = page.length < left.length ? page.at(-1) : undefined;
  return { items, nextCursor: last === undefined ? null : Buffer.from(last.name).toString('base64url') };
}

/** The first of a list, as many as a page holds: at least one. */
function pageOf(agents: readonly RegisteredAgent[], limit: number): readonly RegisteredAgent[] {
  let bytes = 0;
  const end = agents.findIndex(({ view }, at) => {
    bytes += Buffer.byteLength(JSON.stringify(view));
    return at >= limit || (at > 0 && bytes > PAGE_BYTES);
  });
  return end < 0 ? agents : agents.slice(0, end);
}

/** The views of agents, with what replays have found of their tools. */
async function withMarks(
  knex: EngineContext['stepContext']['knex'],
  tenant: string,
  agents: readonly RegisteredAgent[],
): Promise<AgentView[]> {
  const all = agents.map((agent) => ({
    view: agent.view,
    deterministic: toolVersionsOf(agent).filter(({ deterministic }) => deterministic),
  }));
  const tools = all.flatMap(({ deterministic }) => deterministic);
  const marks = await marksAmong(knex, tenant, tools);
  return all.map(({ view, deterministic }) => ({
    ...view,
    marks: marks.filter((mark) =>
      deterministic.some(({ tool, toolVersion }) => tool === mark.tool && toolVersion === mark.toolVersion),
    ),
  }));
}

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
  const { items: definitions, ...unreadable } = legibleRows(rows, (row) => row.definition_hash, seenOf);
  return {
    ...view,
    ...{ definition: jsonObject.parse(JSON.parse(registered.definition)), definitions: [...definitions] },
    ...(unreadable.unreadable && { unreadable: [...unreadable.unreadable] }),
  };
}

const seenOf = (row: Pick<DefinitionRow, 'definition_hash' | 'version' | 'created_at'>) =>
  viewOfRow(row, { table: 'agents', row: row.definition_hash }, (one) => ({
    ...{ hash: one.definition_hash, version: one.version, firstSeenAt: one.created_at.toISOString() },
  }));

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
  return { ...seenOf(row), definition };
}
