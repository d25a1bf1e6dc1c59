import { type ModelRequest, type ModelResponse, UserError } from '@openai/agents';
import { isRecord } from '../../core/json.js';
import type { SpokenText } from './native-answer.js';

type Api = 'anthropic' | 'google';
type Options = Readonly<Record<string, unknown>>;

/**
 * Returns the request with its settings in the words of the AI SDK's provider. Throws a UserError for what the API or the adapter
 * would leave out in silence.
 */
export function nativeRequest(api: Api, model: string, request: ModelRequest, cache: boolean): ModelRequest {
  refuseForeign(model, request);
  const { modelSettings } = request;
  const { providerOptions, ...data } = modelSettings.providerData ?? {};
  const own = isRecord(providerOptions) && isRecord(providerOptions[api]) ? providerOptions[api] : {};
  const options =
    api === 'anthropic' ? anthropicOptions(model, request, own, cache) : googleOptions(model, request, own);
  return {
    ...request,
    modelSettings: {
      ...modelSettings,
      ...withMaxTokens(model, modelSettings.maxTokens, options),
      providerData: {
        ...data,
        providerOptions: { ...(isRecord(providerOptions) ? providerOptions : {}), [api]: options },
      },
    },
  };
}

function refuseForeign(model: string, { tools, previousResponseId, conversationId, prompt }: ModelRequest): void {
  const foreign = tools.find(({ type }) => type !== 'function');
  if (foreign !== undefined)
    throw new UserError(
      `${model} takes function tools only, and "${foreign.name}" is a tool of the kind ${foreign.type}.`,
    );
  const stored = Object.entries({ previousResponseId, conversationId, prompt }).find(
    ([, value]) => value !== undefined,
  );
  if (stored !== undefined) throw new UserError(`${model} has no ${stored[0]}: only OpenAI's Responses API stores it.`);
}

/** Whether something asks for an hour of cache: the settings, a tool, or an item of the conversation or a part of one. */
const asksForHour = (value: unknown, inData = false): boolean =>
  isRecord(value) &&
  !ArrayBuffer.isView(value) &&
  Object.entries(value).some(
    ([name, item]) =>
      (inData && /^cache_?control$/i.test(name) && isRecord(item) && item['ttl'] === '1h') ||
      asksForHour(item, inData || name === 'providerData'),
  );

function anthropicOptions(model: string, request: ModelRequest, own: Options, cache: boolean): Options {
  const { input, tools, modelSettings } = request;
  const { reasoning, parallelToolCalls } = modelSettings;
  if (asksForHour([input, tools, modelSettings]))
    throw new UserError(`${model}: an hour of cache has a price that Holdfast does not count; leave ttl out.`);
  const effort = reasoning?.effort ?? null;
  const thinking =
    effort === null
      ? {}
      : effort === 'none'
        ? { thinking: { type: 'disabled' } }
        : { thinking: { type: 'adaptive' }, effort: effort === 'minimal' ? 'low' : effort };
  return {
    // A call arrives whole and valid, as in an answer that is not streamed.
    toolStreaming: false,
    ...(cache ? { cacheControl: { type: 'ephemeral' } } : {}),
    ...thinking,
    ...(parallelToolCalls === false ? { disableParallelToolUse: true } : {}),
    ...own,
  };
}

/** Google's own translation of an effort, for models that take a number of tokens. */
const BUDGETS: Readonly<Record<string, number>> = { none: 0, minimal: 1024, low: 1024, medium: 8192, high: 24_576 };

function googleOptions(model: string, { modelSettings }: ModelRequest, own: Options): Options {
  const { reasoning, parallelToolCalls } = modelSettings;
  if (parallelToolCalls === false)
    throw new UserError(`${model} has no setting against parallel calls (parallelToolCalls).`);
  const effort = reasoning?.effort ?? null;
  if (effort === null) return own;
  const budget = BUDGETS[effort];
  if (budget === undefined) throw new UserError(`${model} has no reasoning effort "${effort}"; use at most "high".`);
  const takesBudget = /gemini-2\.5/.test(model);
  if (!takesBudget && effort === 'none') throw new UserError(`${model} cannot answer without thinking; use "minimal".`);
  const thinkingConfig = takesBudget ? { thinkingBudget: budget } : { thinkingLevel: effort };
  return { thinkingConfig: { ...thinkingConfig, includeThoughts: effort !== 'none' }, ...own };
}

/** The package adds the budget of thoughts to `maxTokens`; a limit of Holdfast bounds thoughts and words together. */
function withMaxTokens(model: string, maxTokens: number | undefined, { thinking }: Options): { maxTokens?: number } {
  if (maxTokens === undefined || !isRecord(thinking) || thinking['type'] !== 'enabled') return {};
  const budget = typeof thinking['budgetTokens'] === 'number' ? thinking['budgetTokens'] : 1024;
  if (budget < maxTokens) return { maxTokens: maxTokens - budget };
  throw new UserError(`${model}: maxTokens (${maxTokens}) must be above the budget of thoughts (${budget} tokens).`);
}

type Items = ModelResponse['output'];

/** What an API wants back with an item, by its names in the AI SDK. */
const KEPT = { anthropic: ['signature', 'redactedData'], google: ['thoughtSignature'] } as const;

/** The items of an answer with what the API needs back, and nothing else of the adapter's. */
export function ownItems(api: keyof typeof KEPT, output: Items, texts: readonly SpokenText[]): Items {
  const said = texts.filter(({ text }) => text !== '')[Symbol.iterator]();
  return output.flatMap((item): Items => {
    const own = keptOf(api, item.providerData);
    if (item.type === 'reasoning') {
      const { content, rawContent } = item;
      return [{ type: 'reasoning', content, ...(rawContent === undefined ? {} : { rawContent }), ...own }];
    }
    if (item.type === 'function_call') {
      const { callId, name, arguments: args, namespace } = item;
      const space = namespace === undefined ? {} : { namespace };
      return [{ type: 'function_call', callId, name, ...space, arguments: args, status: 'completed', ...own }];
    }
    if (!('role' in item) || item.role !== 'assistant') return [item];
    const content = item.content.filter((part) => part.type !== 'output_text' || part.text !== '');
    if (content.length === 0) return [];
    const signature = said.next().value?.signature ?? null;
    const signed = signature === null ? {} : { providerData: { [api]: { thoughtSignature: signature } } };
    return [
      {
        ...{ type: 'message', role: 'assistant', status: 'completed' },
        content: content.map((part, index) => (index === content.length - 1 ? { ...part, ...signed } : part)),
      },
    ];
  });
}

function keptOf(
  api: keyof typeof KEPT,
  data: Record<string, unknown> | undefined,
): { providerData?: Record<string, unknown> } {
  const all = data?.[api];
  if (!isRecord(all)) return {};
  const kept = KEPT[api].flatMap((name) => (typeof all[name] === 'string' ? [[name, all[name]] as const] : []));
  return kept.length === 0 ? {} : { providerData: { [api]: Object.fromEntries(kept) } };
}
