import { toolSpecOf } from '../../tools/define/define-tool.js';
import { reachableAgents } from '../../tools/define/reachable-agents.js';
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
