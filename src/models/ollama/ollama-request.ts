import { type ModelRequest, UserError } from '@openai/agents';
import { type OllamaMessagesOptions, ollamaMessages } from './ollama-messages.js';
import { type OllamaSettingsOptions, ollamaSettings } from './ollama-settings.js';
import { ollamaTools, requirement } from './ollama-tools.js';
import type { OllamaMessage, OllamaRequest } from './ollama-wire.js';

export interface OllamaRequestOptions extends OllamaMessagesOptions, OllamaSettingsOptions {}

/** What one model call sends, and what its answer must then be. */
export interface OllamaPlan {
  readonly request: OllamaRequest;
  /** The form of the final answer, if tools are offered too: it cannot be sent beside tools, which then are never called. */
  readonly finalFormat: string | object | null;
  /** Tools of which one must be called; null: the model is free. */
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
