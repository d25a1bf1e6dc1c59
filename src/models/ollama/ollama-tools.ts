import { type ModelRequest, UserError } from '@openai/agents';
import { isObject } from '../../core/json.js';
import type { OllamaTool } from './ollama-wire.js';

export interface OllamaToolOffer {
  readonly tools: readonly OllamaTool[];
  /** The names of which one must be called; null: the model is free. */
  readonly required: readonly string[] | null;
}

/**
 * What the model may call. Ollama knows no tool choice: a required tool is offered alone, asked for in words, and the answer
 * is checked. Throws a UserError for tools that run at OpenAI and for a choice that names no tool.
 */
export function ollamaTools({ tools, handoffs, modelSettings }: ModelRequest): OllamaToolOffer {
  const choice = modelSettings.toolChoice ?? 'auto';
  if (choice === 'none') return { tools: [], required: null };
  const hosted = tools.filter((tool) => tool.type !== 'function').map((tool) => `${tool.name} (${tool.type})`);
  if (hosted.length > 0) throw new UserError(`Ollama cannot run these tools: ${hosted.join(', ')}.`);
  const all = [
    ...tools.flatMap((tool) =>
      tool.type === 'function' ? [offer('tool', tool.name, tool.description, tool.parameters)] : [],
    ),
    ...handoffs.map(({ toolName, toolDescription, inputJsonSchema }) =>
      offer('handoff', toolName, toolDescription, inputJsonSchema),
    ),
  ];
  if (choice === 'auto') return { tools: all, required: null };
  const chosen = choice === 'required' ? all : all.filter((tool) => tool.function.name === choice);
  if (chosen.length === 0) {
    throw new UserError(`toolChoice is "${choice}", but the tools are: ${namesOf(all).join(', ') || 'none'}.`);
  }
  return { tools: chosen, required: namesOf(chosen) };
}

const namesOf = (tools: readonly OllamaTool[]) => tools.map((tool) => tool.function.name);

function offer(kind: string, name: string, description: string | undefined, parameters: unknown): OllamaTool {
  if (name === '')
    throw new UserError(`The ${kind} "${description ?? ''}" has no name, so that the model cannot call it.`);
  if (parameters !== undefined && parameters !== null && !isObject(parameters)) {
    throw new UserError(`The ${kind} "${name}" has no JSON schema of an object as its parameters.`);
  }
  return {
    type: 'function',
    function: { name, description: description ?? '', parameters: withProperties(parameters ?? { type: 'object' }) },
  };
}

/** Some templates fail on a tool without properties; every other schema goes through unchanged. */
const withProperties = (schema: object): object =>
  'type' in schema && schema.type === 'object' && !('properties' in schema) ? { ...schema, properties: {} } : schema;

export const requirement = (names: readonly string[]): string =>
  names.length === 1
    ? `Call the tool ${names[0]} now. Do not answer in words.`
    : `Call one of these tools now: ${names.join(', ')}. Do not answer in words.`;
