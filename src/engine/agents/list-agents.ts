import type { AgentView } from '../../core/agents/agent-view.js';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type { Page, PageOf } from '../../core/page.js';
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
export async function withMarks(
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
