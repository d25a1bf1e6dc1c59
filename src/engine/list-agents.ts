import type { Caller } from '../core/caller.js';
import { marksAmong } from '../storage/tool-marks.js';
import type { Parts } from './parts.js';
import { toolVersionsOf } from './tool-versions.js';
import type { AgentView } from './verbs.js';

/** The agents of the configuration, with what replays have found of their tools. */
export async function listAgents({ world, agents }: Parts, { tenant }: Caller): Promise<AgentView[]> {
  const all = [...agents.values()].map((agent) => ({
    view: agent.view,
    deterministic: toolVersionsOf(agent).filter(({ deterministic }) => deterministic),
  }));
  const marks = await marksAmong(
    world.knex,
    tenant,
    all.flatMap(({ deterministic }) => deterministic),
  );
  return all.map(({ view, deterministic }) => ({
    ...view,
    marks: marks.filter((mark) =>
      deterministic.some(({ tool, toolVersion }) => tool === mark.tool && toolVersion === mark.toolVersion),
    ),
  }));
}
