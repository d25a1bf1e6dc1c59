import { z } from 'zod';
import type { RunScaffold } from '../../../workflows/segment-context.js';
import type { ScaffoldName } from '../../core/agents/scaffold.js';
import type { AgentEnvironment } from '../../core/containers/environment.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { checkCapability } from '../../core/grants/capability.js';
import type { GrantSet } from '../../core/grants/grants.js';
import { isDeclared } from '../../tools/define/define-tool.js';
import type { AgentDeclaration } from './define.js';

const anyFunction = z.custom<(...args: never) => unknown>((value) => typeof value === 'function', 'must be a function');

const scaffoldShape = z.strictObject({
  name: z.string().regex(/^[a-z][a-z0-9-]{0,63}$/, 'must be [a-z][a-z0-9-]* of at most 64 characters'),
  version: z.string().min(1).max(64),
  tools: anyFunction,
  grants: anyFunction.optional(),
  initialize: anyFunction.optional(),
  step: anyFunction.optional(),
  read: anyFunction.optional(),
  history: anyFunction.optional(),
  terminal: anyFunction.optional(),
});

/** The scaffold of an agent; null: it has none. Throws `agent_invalid` for one that could not work, and names the grants that it needs. */
export function agentScaffold(
  { agent, scaffold }: AgentDeclaration,
  grants: GrantSet,
  environment: AgentEnvironment | null,
): RunScaffold | null {
  if (scaffold === undefined) return null;
  const refuse = (why: string, hint?: string): HoldfastError =>
    new HoldfastError('agent_invalid', `The agent ${agent.name}: ${why}.`, hint === undefined ? {} : { hint });
  const issue = scaffoldShape.safeParse(scaffold).error?.issues[0];
  if (issue !== undefined) throw refuse(`its scaffold is not valid: ${['', ...issue.path].join('/')} ${issue.message}`);
  const { name } = scaffold;
  const tools = scaffold.tools();
  if (!Array.isArray(tools) || tools.length === 0 || !tools.every(isToolOfOurs))
    throw refuse(`the scaffold ${name} has no tools, or one that defineTool did not make`);
  const names = [...agent.tools, ...tools].map((tool) => tool.name);
  const twice = tools.find((tool) => names.filter((one) => one === tool.name).length > 1);
  if (twice !== undefined) throw refuse(`${twice.name} of the scaffold ${name} is there twice`);
  if (agent.toolUseBehavior !== 'run_llm_again')
    throw refuse(`it has a toolUseBehavior, and the scaffold ${name} says when its runs are over`);
  if (scaffold.read !== undefined && scaffold.history === undefined)
    throw refuse(`the scaffold ${name} reads calls in texts, and has no history to show their results in`);
  const needed = scaffold.grants?.(environment?.spec.workdir ?? '/work') ?? [];
  if (environment === null && needed.some((grant) => grant.startsWith('container:')))
    throw refuse(`the scaffold ${name} works in a container`, 'Give the agent an `environment`.');
  const missing = needed.filter((capability) => !isSpokenOf(grants, capability));
  if (missing.length > 0)
    throw refuse(
      `the scaffold ${name} needs grants that it does not have: ${missing.join(', ')}`,
      `Add them to \`grants\`, as they are or with other scopes: ${JSON.stringify(missing)}. To keep an action from it, deny it.`,
    );
  return { agent, scaffold, tools };
}

const isToolOfOurs = (tool: unknown): boolean => typeof tool === 'object' && tool !== null && isDeclared(tool);

export const nameOfScaffold = ({ scaffold: { name, version } }: RunScaffold): ScaffoldName => ({ name, version });

/** Whether grants say something of an action: what they say of its scopes is the user's own affair. */
function isSpokenOf(set: GrantSet, capability: string): boolean {
  if (!capability.includes('*')) return checkCapability(set, capability).rule !== null;
  const [domain, action] = capability.split(':');
  return set.grants.some((grant) => {
    const [ofDomain, ofAction] = grant.capability.split(':');
    return (ofDomain === domain || ofDomain === '*') && (ofAction === action || ofAction === '*');
  });
}
