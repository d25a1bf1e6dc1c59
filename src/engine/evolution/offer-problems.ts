import type { ScaffoldName } from '../../core/agents/scaffold.js';
import type { FieldError } from '../../core/errors/errors.js';
import { isDeclared, toolSpecOf } from '../../tools/define/define-tool.js';
import { subAgentOf } from '../../tools/define/sub-agent.js';
import type { RegisteredAgent } from '../agents/agent-registry.js';
import { agentScaffold, nameOfScaffold } from '../agents/agent-scaffold.js';
import type { AgentScaffold, HoldfastConfig } from '../agents/define.js';

/** What is wrong with the tools and scaffolds that a configuration offers to patches: no patch could ever take them. */
export function problemsOfOffers(
  { agents: names, tools = [], scaffolds = [] }: NonNullable<HoldfastConfig['evolution']>,
  agents: ReadonlyMap<string, RegisteredAgent>,
): FieldError[] {
  const changing = names.flatMap((name) => agents.get(name) ?? []);
  return [
    ...tools.flatMap((_, index) => at(`/evolution/tools/${index}`, problemOfTool(tools, index, changing))),
    ...scaffolds.flatMap((_, index) =>
      at(`/evolution/scaffolds/${index}`, problemOfScaffold(scaffolds, index, changing)),
    ),
  ];
}

const at = (pointer: string, detail: string | null): FieldError[] => (detail === null ? [] : [{ pointer, detail }]);

function problemOfTool(tools: readonly object[], index: number, agents: readonly RegisteredAgent[]): string | null {
  const [tool, ...before] = tools.slice(0, index + 1).toReversed();
  if (tool === undefined || !isDeclared(tool) || !('name' in tool)) return 'is no tool that defineTool made';
  if (subAgentOf(tool) !== undefined) return 'runs another agent, which no patch gives a version';
  const { name, version } = specOf(tool);
  const isSame = (other: object) =>
    isDeclared(other) && specOf(other).name === name && specOf(other).version === version;
  if (before.some(isSame)) return `is version ${version} of ${name}, as one before it`;
  const having = agents.filter(({ agent }) => agent.tools.some((one) => one.name === name));
  if (having.length === 0) return `has the name ${name}, and no agent that patches may change has a tool of it`;
  const same = having.find(({ agent }) => agent.tools.some(isSame));
  return same === undefined
    ? null
    : `is version ${version} of ${name}, which ${same.name} has: give it another \`version\``;
}

const specOf = (tool: object) => toolSpecOf(tool as Parameters<typeof toolSpecOf>[0]);

function problemOfScaffold(
  scaffolds: readonly AgentScaffold[],
  index: number,
  agents: readonly RegisteredAgent[],
): string | null {
  const [scaffold, ...before] = scaffolds.slice(0, index + 1).toReversed();
  if (scaffold === undefined) return null;
  const problems = agents.flatMap(({ agent, grants, environment, scaffold: own }): (string | null)[] => {
    if (own === null) return [];
    try {
      const made = agentScaffold({ agent, scaffold }, grants, environment);
      const { name, version } = made === null ? scaffold : nameOfScaffold(made);
      const isSame = (one: ScaffoldName) => one.name === name && one.version === version;
      if (isSame(own.scaffold)) return [`is version ${version} of ${name}, which ${agent.name} has`];
      return [before.some(isSame) ? `is version ${version} of ${name}, as one before it` : null];
    } catch (cause) {
      return [`does not fit: ${cause instanceof Error ? cause.message : String(cause)}`];
    }
  });
  if (problems.includes(null)) return null;
  return problems[0] ?? 'is for agents with a scaffold, and none that patches may change has one';
}
