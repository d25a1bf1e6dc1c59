import type { Agent } from '@openai/agents';
import { HoldfastError } from '../core/errors/errors.js';
import { invalidConfig } from '../core/field-errors.js';
import { isRecord } from '../core/json.js';
import type { AgentDeclaration } from '../engine/agents/define.js';
import { createEngine } from '../engine/create-engine.js';
import type { Engine } from '../engine/engine.js';
import type { EngineConfig } from '../engine/engine-config.js';

// biome-ignore lint/suspicious/noExplicitAny: agents of every context and output can be run, as in the SDK
export type AnyAgent = Agent<any, any>;

/** Sets the bounds of agents that the program does not declare. They may call their tools, as under the `Runner` of the SDK. */
const undeclared = (agent: AnyAgent): AgentDeclaration => ({
  agent,
  context: true,
  grants: ['*:*:*'],
  allowEverything: true,
});

const GRACE_MS = 5000;
/** As long as a timer of Node waits. */
const LONGEST_IDLE_MS = 2_147_483_647;

/** A program in JavaScript may give anything. Throws `config_invalid`. */
function assertRunnerConfig(agents: unknown, idleMs: unknown): void {
  const isAgent = (one: unknown): boolean => isRecord(one) && isRecord(one['agent'] ?? one);
  if (!Array.isArray(agents) || !agents.every(isAgent))
    throw invalidConfig('The runner', [{ pointer: '/agents', detail: 'expected a list of agents' }]);
  if (idleMs !== null && !(typeof idleMs === 'number' && idleMs >= 0 && idleMs <= LONGEST_IDLE_MS))
    throw invalidConfig('The runner', [
      { pointer: '/idleMs', detail: `expected milliseconds from 0 to ${LONGEST_IDLE_MS}, or null` },
    ]);
}

/** The engine of a runner: starts with the first run, and stops when none was asked for during `idleMs`, so that the process can end. */
export class RunnerEngine {
  readonly #config: Omit<EngineConfig, 'agents'>;
  readonly #idleMs: number | null;
  readonly #agents = new Map<string, AgentDeclaration>();
  #engine: Promise<Engine> | null = null;
  #stopping: Promise<void> = Promise.resolve();
  #users = 0;
  #idle: ReturnType<typeof setTimeout> | undefined;

  constructor(
    config: Omit<EngineConfig, 'agents'>,
    agents: readonly (AgentDeclaration | AnyAgent)[],
    idleMs: number | null,
  ) {
    assertRunnerConfig(agents, idleMs);
    this.#config = config;
    this.#idleMs = idleMs;
    for (const one of agents) {
      const declaration = 'agent' in one ? one : undeclared(one);
      const { name } = declaration.agent;
      if (this.#agents.has(name)) throw new HoldfastError('agent_invalid', `Two agents have the name ${name}.`);
      this.#agents.set(name, declaration);
    }
  }

  /** Does something with the engine, which knows the agent. Throws `agent_unknown` where runs are at work and it does not. */
  async use<T>(agent: AnyAgent | null, work: (engine: Engine) => Promise<T>): Promise<T> {
    clearTimeout(this.#idle);
    const forget = agent === null ? null : this.#learn(agent);
    this.#users += 1;
    try {
      return await work(await this.#started(forget));
    } finally {
      this.#users -= 1;
      if (this.#users === 0 && this.#idleMs !== null)
        this.#idle = setTimeout(() => void this.stop().catch(() => undefined), this.#idleMs);
    }
  }

  /** Stops the engine. The next use starts another one. */
  stop(): Promise<void> {
    clearTimeout(this.#idle);
    const engine = this.#engine;
    this.#engine = null;
    if (engine !== null)
      this.#stopping = this.#stopping
        .then(async () => (await engine).stop({ graceMs: GRACE_MS }))
        .catch(() => undefined);
    return this.#stopping;
  }

  /** Returns what takes it back; null: the agent was known. */
  #learn(agent: AnyAgent): (() => void) | null {
    const { name } = agent;
    const known = this.#agents.get(name);
    if (known?.agent === agent) return null;
    if (this.#users > 0)
      throw new HoldfastError(
        'agent_unknown',
        `The agent ${agent.name} is ${known === undefined ? 'not declared' : 'another object than before'}, and an engine takes no agent while it works.`,
        { hint: 'Name each agent once, before the first run: new HoldfastRunner({ agents: [...] }).' },
      );
    this.#agents.set(name, known === undefined ? undeclared(agent) : { ...known, agent });
    void this.stop();
    return () => void (known === undefined ? this.#agents.delete(name) : this.#agents.set(name, known));
  }

  /** An agent that no engine starts with is forgotten: others would not run either. */
  async #started(forget: (() => void) | null): Promise<Engine> {
    this.#engine ??= this.#stopping.then(() => createEngine({ ...this.#config, agents: [...this.#agents.values()] }));
    const starting = this.#engine;
    try {
      return await starting;
    } catch (error) {
      if (this.#engine === starting) this.#engine = null;
      forget?.();
      throw error;
    }
  }
}
