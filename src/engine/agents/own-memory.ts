import { HoldfastError } from '../../core/errors/errors.js';
import { isSameSpace, type MemorySpace } from '../../core/tools/memory-space.js';

const invalid = (agent: string, detail: string): HoldfastError =>
  new HoldfastError('agent_invalid', `The agent ${agent} is not valid: memory: ${detail}`, {
    fields: [{ pointer: '/memory', detail }],
  });

/** The spaces of an agent by name; null: it declares none. Throws `agent_invalid`. */
export function declaredMemory(
  agent: string,
  spaces: readonly MemorySpace[] | undefined,
): ReadonlyMap<string, MemorySpace> | null {
  if (spaces === undefined) return null;
  const byName = new Map(spaces.map((space) => [space.name, space]));
  if (byName.size < spaces.length) throw invalid(agent, 'two spaces have the same name');
  return byName;
}

/** Agents that name the same space share its documents, so they must say the same of it. Throws `agent_invalid`. */
export function assertSameSpaces(
  agents: Iterable<{ readonly name: string; readonly memory: ReadonlyMap<string, MemorySpace> | null }>,
): void {
  const known = new Map<string, { readonly agent: string; readonly space: MemorySpace }>();
  for (const { name: agent, memory } of agents)
    for (const space of memory?.values() ?? []) {
      const before = known.get(space.name);
      if (before !== undefined && !isSameSpace(before.space, space))
        throw invalid(agent, `the agent ${before.agent} declares the space ${space.name} in another way`);
      known.set(space.name, { agent, space });
    }
}
