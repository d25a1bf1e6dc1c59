import type { Agent } from '@openai/agents';

/** Puts an accessor in place of a property of an agent: `read` says what is seen of its value. What is set later is the value. */
export function overrideProperty<
  K extends 'tools' | 'mcpServers' | 'model' | 'inputGuardrails' | 'outputGuardrails' | 'toolUseBehavior',
>(agent: Agent, key: K, read: (value: Agent[K]) => Agent[K]): void {
  let value: Agent[K] = agent[key];
  Object.defineProperty(agent, key, {
    configurable: true,
    enumerable: true,
    get: () => read(value),
    set: (given: Agent[K]) => {
      value = given;
    },
  });
}
