import type { z } from 'zod';
import { surroundingSegment } from '../../../workflows/segment-context.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { invalidConfig } from '../../core/field-errors.js';
import type { JsonObject } from '../../core/json.js';
import { type StateProblem, stateValue } from '../../core/tools/agent-state.js';
import { isMemorySpace, isSameSpace, type MemorySpace } from '../../core/tools/memory-space.js';
import { problemBy, problemOf } from '../../tools/define/schema-parse.js';

/** What an agent declares of the state of its runs. */
export interface DeclaredState {
  readonly initial: JsonObject;
  readonly problemOf: StateProblem;
}

/** Throws `agent_invalid` for a schema that does not say what a run begins with. */
export function declaredState(agent: string, schema: z.ZodType | undefined): DeclaredState | null {
  if (schema === undefined) return null;
  const refuse = (why: string): never => {
    const detail = `a run begins with the state that the schema makes of {}: ${why}`;
    throw new HoldfastError('agent_invalid', `The agent ${agent} is not valid: state: ${detail}`, {
      fields: [{ pointer: '/state', detail }],
    });
  };
  const parsed = schema.safeParse({});
  if (!parsed.success) return refuse(`${problemOf(parsed.error)} Give each member a default, or make it optional.`);
  try {
    return { initial: stateValue(parsed.data), problemOf: problemBy(schema) };
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

/**
 * Returns the state of the run that calls this: for instructions, guardrails and other callbacks, which read it and do not change it.
 * Throws `state_missing` outside of such a run, and `state_invalid` for a state that does not fit.
 */
export function runState<S>(schema: z.ZodType<S>): S {
  const present = surroundingSegment()?.own.present ?? null;
  if (present === null)
    throw new HoldfastError('state_missing', 'runState() was called outside of a run whose agent declares a state.');
  const parsed = schema.safeParse(structuredClone(present.value));
  if (parsed.success) return parsed.data;
  throw new HoldfastError('state_invalid', `The state does not fit its schema: ${problemOf(parsed.error)}`);
}

const invalid = (agent: string, detail: string): HoldfastError =>
  new HoldfastError('agent_invalid', `The agent ${agent} is not valid: memory: ${detail}`, {
    fields: [{ pointer: '/memory', detail }],
  });

/** The spaces of a configuration by name. Throws `config_invalid`. */
export function configuredSpaces(spaces: readonly MemorySpace[]): ReadonlyMap<string, MemorySpace> {
  if (!Array.isArray(spaces))
    throw invalidConfig('The engine', [{ pointer: '/memorySpaces', detail: 'expected a list of memorySpace(…)' }]);
  const byName = new Map<string, MemorySpace>();
  for (const [at, space] of spaces.entries()) {
    const detail = isMemorySpace(space)
      ? byName.has(space.name) && `two spaces have the name ${space.name}`
      : 'must be made by memorySpace()';
    if (detail !== false) {
      throw invalidConfig('The engine', [{ pointer: `/memorySpaces/${at}`, detail }]);
    }
    byName.set(space.name, space);
  }
  return byName;
}

/** The spaces of an agent by name; null: it declares none. A text names one of the configuration. Throws `agent_invalid`. */
export function declaredMemory(
  agent: string,
  spaces: readonly (MemorySpace | string)[] | undefined,
  configured: ReadonlyMap<string, MemorySpace>,
): ReadonlyMap<string, MemorySpace> | null {
  if (spaces === undefined) return null;
  const found = spaces.map((one) => (typeof one === 'string' ? named(agent, one, configured) : one));
  const byName = new Map(found.map((space) => [space.name, space]));
  if (byName.size < found.length) throw invalid(agent, 'two spaces have the same name');
  return byName;
}

function named(agent: string, name: string, configured: ReadonlyMap<string, MemorySpace>): MemorySpace {
  const space = configured.get(name);
  if (space !== undefined) return space;
  const known = configured.size === 0 ? 'it has none' : `it has ${[...configured.keys()].join(', ')}`;
  throw invalid(agent, `the configuration has no space ${JSON.stringify(name)} in memorySpaces: ${known}`);
}

/** Agents that name the same space share its documents, so they must say the same of it, as the configuration does. Throws `agent_invalid`. */
export function assertSameSpaces(
  agents: Iterable<{ readonly name: string; readonly memory: ReadonlyMap<string, MemorySpace> | null }>,
  configured: ReadonlyMap<string, MemorySpace>,
): void {
  const known = new Map([...configured].map(([name, space]) => [name, { who: 'the configuration', space }]));
  for (const { name: agent, memory } of agents)
    for (const space of memory?.values() ?? []) {
      const before = known.get(space.name);
      if (before !== undefined && !isSameSpace(before.space, space))
        throw invalid(agent, `${before.who} declares the space ${space.name} in another way`);
      known.set(space.name, { who: `the agent ${agent}`, space });
    }
}
