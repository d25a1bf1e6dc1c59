import type { Knex } from 'knex';
import type { JsonValue } from '../../src/core/json.js';
import type { Engine, HoldfastConfig, InterruptionView } from '../../src/index.js';
import { agents } from './agents-scenario.js';
import { crowd } from './crowd-scenario.js';
import { decisions } from './decisions-scenario.js';
import { evolution, planEvolution } from './evolution-scenario.js';
import { family } from './family-scenario.js';
import { machine } from './machine-scenario.js';
import { mcp } from './mcp-scenario.js';
import { memory } from './memory-scenario.js';
import { money } from './money-scenario.js';
import { overdue } from './overdue-scenario.js';
import type { KillAt } from './place.js';
import { plans } from './plans-scenario.js';
import { proposals } from './proposals-scenario.js';
import { state } from './state-scenario.js';
import { tools } from './tools-scenario.js';
import { waits } from './waits-scenario.js';

/** A run, and the runs below it, that the crash matrix kills everywhere. */
export interface Scenario {
  readonly agent: string;
  readonly config: HoldfastConfig;
  /** What its run is started with; default `go`. */
  readonly input?: string;
  /** Instants inside models, tools and callbacks, in the order in which they come. */
  readonly places: readonly string[];
  /** How often each unsafe effect is in the world in the end. */
  readonly exactly: Readonly<Record<string, number>>;
  /** Effects that a person may stand in for, and those that may happen again. */
  readonly atMostOnce?: readonly string[];
  readonly repeated?: readonly string[];
  /** Its runs are at work at once and end in any order, so that no two logs are the same. */
  readonly isRacing?: boolean;
  /** Its log has digests of rows of memory. */
  readonly writesMemory?: boolean;
  /** How many durable statements it makes at most; chores share some, so that the last ones may not exist and the process just ends. */
  readonly statements: number;
  /** Statements around which it is killed, whatever their numbers are. */
  readonly around?: readonly KillAt[];
  /** What happens before the run starts. */
  readonly prepare?: (engine: Engine) => Promise<unknown>;
  /** Decides what a careful person would decide otherwise than by default; false: it leaves that to the default. */
  readonly decide?: (engine: Engine, item: InterruptionView) => Promise<boolean>;
  /** What people do when the run is over; each process does it again. */
  readonly afterwards?: (engine: Engine) => Promise<void>;
  /** The runs that are compared, by their agent; default all. */
  readonly reports?: (agent: string) => boolean;
  /** What must be true of the database in the end. Throws. */
  readonly check?: (knex: Knex) => Promise<void>;
  /** What a person says that a call returned which happened. */
  readonly resultOf?: (item: InterruptionView) => JsonValue;
}

const SCENARIOS = {
  tools,
  agents,
  crowd,
  decisions,
  evolution,
  planEvolution,
  family,
  machine,
  mcp,
  memory,
  money,
  overdue,
  plans,
  proposals,
  state,
  waits,
} satisfies {
  [name: string]: Scenario;
};
export type ScenarioName = keyof typeof SCENARIOS;

/** The scenario of a process. */
export function scenarioOf(name: string): Scenario {
  const found: Scenario | undefined = Object.entries(SCENARIOS).find(([key]) => key === name)?.[1];
  if (found === undefined) throw new Error(`there is no scenario ${name}`);
  return found;
}
