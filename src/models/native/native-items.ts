import type { ModelResponse } from '@openai/agents';
import { isRecord } from '../../core/json.js';
import type { SpokenText } from './native-answer.js';

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
