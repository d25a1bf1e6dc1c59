import { type ModelRequest, UserError } from '@openai/agents';
import { isObject } from '../../core/json.js';
import { type OllamaMessagesOptions, ollamaMessages } from './ollama-messages.js';
import { type OllamaSettingsOptions, ollamaSettings } from './ollama-options.js';
import type { OllamaMessage, OllamaRequest, OllamaTool } from './ollama-wire.js';

interface OllamaToolOffer {
  readonly tools: readonly OllamaTool[];
  /** Names: one of them must be called; null: the model is free. */
  readonly required: readonly string[] | null;
}

/**
 * What the model may call. Ollama knows no tool choice: a required tool is offered alone, asked for in words, and the answer
 * is checked. Throws a UserError for tools that run at OpenAI and for a choice that names no tool.
 */
function ollamaTools({ tools, handoffs, modelSettings }: ModelRequest): OllamaToolOffer {
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

const requirement = (names: readonly string[]): string =>
  names.length === 1
    ? `Call the tool ${names[0]} now. Do not answer in words.`
    : `Call one of these tools now: ${names.join(', ')}. Do not answer in words.`;

export interface OllamaRequestOptions extends OllamaMessagesOptions, OllamaSettingsOptions {}

/** What one model call sends, and what its answer must then be. */
export interface OllamaPlan {
  readonly request: OllamaRequest;
  /** The form of the final answer, if tools are offered too: it cannot be sent beside tools, which then are never called. */
  readonly finalFormat: string | object | null;
  /** Tools: one of them must be called; null: the model is free. */
  readonly required: readonly string[] | null;
  readonly onlyFirstCall: boolean;
  readonly thinkIsDefault: boolean;
  /** What had to be changed or may go wrong, in sentences. */
  readonly warnings: readonly string[];
}

const CHARS_PER_TOKEN = 4;

/** Throws a UserError for everything that Ollama cannot do: nothing is left out silently. */
export function ollamaPlan(model: string, request: ModelRequest, options: OllamaRequestOptions): OllamaPlan {
  refuseServerState(request);
  const warnings: string[] = [];
  const messages = ollamaMessages(request.systemInstructions, request.input, options, (text) => warnings.push(text));
  const { tools, required } = ollamaTools(request);
  if (required !== null) messages.push({ role: 'system', content: requirement(required) });
  const settings = ollamaSettings(model, request.modelSettings, options);
  const schema = request.outputType === 'text' ? null : request.outputType.schema;
  const format = schema ?? settings.format;
  return {
    request: {
      model,
      messages,
      ...(tools.length === 0 ? {} : { tools }),
      ...(format === null || tools.length > 0 ? {} : { format }),
      ...uncut({ messages, tools }, settings.fields.options?.['num_ctx'], request, warnings),
      ...settings.fields,
    },
    finalFormat: tools.length > 0 ? format : null,
    required,
    onlyFirstCall: request.modelSettings.parallelToolCalls === false,
    thinkIsDefault: settings.thinkIsDefault,
    warnings,
  };
}

/** The second question of a call with tools and a schema: the answer that the model gave, in the form that is wanted. */
export function finalRequest({ request, finalFormat }: OllamaPlan, draft: string): OllamaRequest {
  const { tools: _tools, ...rest } = request;
  const messages: OllamaMessage[] = [
    ...request.messages,
    { role: 'assistant', content: draft },
    { role: 'user', content: 'Give this answer as JSON of the required form, and nothing else.' },
  ];
  return { ...rest, messages, ...(finalFormat === null ? {} : { format: finalFormat }) };
}

/** A prompt that looks longer than the context is not cut in silence: the server is told to refuse it. */
function uncut(
  { messages, tools }: Pick<OllamaRequest, 'messages' | 'tools'>,
  numCtx: unknown,
  { modelSettings }: ModelRequest,
  warnings: string[],
): { readonly truncate?: false } {
  if (typeof numCtx !== 'number' || modelSettings.truncation === 'auto') return {};
  // Images take a number of tokens that has nothing to do with their bytes.
  const read = messages.map(({ images: _images, ...rest }) => rest);
  const tokens = Math.ceil(JSON.stringify([read, tools]).length / CHARS_PER_TOKEN);
  if (tokens <= numCtx) return {};
  warnings.push(`The prompt has about ${tokens} tokens, more than the context of ${numCtx}.`);
  return { truncate: false };
}

function refuseServerState({ previousResponseId, conversationId, prompt }: ModelRequest): void {
  const used = Object.entries({ previousResponseId, conversationId, prompt }).filter(
    ([, value]) => value !== undefined,
  );
  if (used.length === 0) return;
  throw new UserError(
    `Ollama keeps no state of a conversation: ${used.map(([name]) => name).join(', ')} cannot be used.`,
  );
}
