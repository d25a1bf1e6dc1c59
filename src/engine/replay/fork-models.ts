import { refuseFork } from '../../core/replay/fork-edits.js';
import { reachableAgents } from '../../tools/define/reachable-agents.js';
import type { RegisteredAgent } from '../agents/agent-registry.js';

/** Whether a name is in a list of names, where `prefix/*` stands for every name that begins so. */
const isIn = (list: readonly string[], model: string): boolean =>
  list.some((one) => (one.endsWith('/*') ? model.startsWith(one.slice(0, -1)) : one === model));

/**
 * A person who forks a run may not have it ask any model that there is a key for: only those that the definition of its agent names, or
 * that `forkModels` allows. `kept`: the model that its source was given. Throws `fork_invalid`.
 */
export function assertModelAllowed(
  { name, agent, forkModels }: RegisteredAgent,
  model: string | undefined,
  kept: string | null,
): void {
  if (model === undefined || model === kept) return;
  const own = reachableAgents(agent).flatMap((one) => (typeof one.model === 'string' ? [one.model] : []));
  const allowed = [...new Set([...own, ...forkModels])].filter((one) => one !== '');
  if (isIn(allowed, model)) return;
  const list = allowed.length === 0 ? 'none' : allowed.join(', ');
  throw refuseFork(
    '/model',
    `A run of ${name} may not be given the model ${model}. Allowed are: ${list}. \`forkModels\` of the agent or of the configuration allows more.`,
  );
}
