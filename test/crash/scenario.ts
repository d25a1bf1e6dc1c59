import type { HoldfastConfig } from '../../src/index.js';
import { agents } from './agents-scenario.js';
import { tools } from './tools-scenario.js';

/** A run that the crash matrix kills everywhere. */
export interface Scenario {
  readonly agent: string;
  readonly config: HoldfastConfig;
  /** Instants inside models, tools and callbacks, in the order in which they come. */
  readonly places: readonly string[];
  /** Tools that leave exactly one line in the world, and those that may leave more. */
  readonly once: readonly string[];
  readonly repeated: readonly string[];
  /** About how many durable statements it makes; later ones do not exist and the process just ends. */
  readonly statements: number;
}

export const SCENARIOS: { readonly [name: string]: Scenario } = { tools, agents };

/** The scenario of a child process. */
export function scenarioOf(name: string): Scenario {
  const found = SCENARIOS[name];
  if (found === undefined) throw new Error(`there is no scenario ${name}`);
  return found;
}
