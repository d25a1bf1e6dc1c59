import type { AgentInputItem, ModelRequest, ModelResponse } from '@openai/agents';
import { isRecord } from '../../core/json.js';
import type { AttemptTarget } from './model-attempt.js';

/**
 * Who said an item of a conversation, kept with it: providers refuse what only another one can read, such as its ids, encrypted reasoning
 * and fields of its own.
 */
const MARK = 'answeredBy';

/** What only its own provider can read, or can answer for. */
const PRIVATE: ReadonlySet<string | undefined> = new Set(['reasoning', 'hosted_tool_call', 'compaction']);

type OutputItem = ModelResponse['output'][number];

const nameOf = ({ provider, model }: AttemptTarget): string => `${provider}/${model}`;

/** The items of an answer, marked where someone else could not read them. */
export const markedItems = <T extends OutputItem>(target: AttemptTarget, output: readonly T[]): T[] =>
  output.map((item) =>
    'id' in item || 'providerData' in item || PRIVATE.has(item.type) || hasOwnContent(item)
      ? { ...item, providerData: { ...item.providerData, [MARK]: nameOf(target) } }
      : item,
  );

/** Gemini signs the last part of an answer in words, not the message. */
const hasOwnContent = (item: object): boolean =>
  'content' in item &&
  Array.isArray(item.content) &&
  item.content.some((part: unknown) => isRecord(part) && 'providerData' in part);

/** The request as this model can read it: what it said itself as it said it, and of what others said the words and calls. */
export function requestFor(target: AttemptTarget, request: ModelRequest): ModelRequest {
  if (typeof request.input === 'string') return request;
  return { ...request, input: request.input.flatMap((item) => itemFor(nameOf(target), item)) };
}

/** A conversation without marks, for a program that asks models itself. */
export const unmarkedItem = <T extends AgentInputItem>(item: T): T => {
  if (item.providerData?.[MARK] === undefined) return item;
  const { [MARK]: _mark, ...own } = item.providerData;
  const { providerData: _providerData, ...rest } = item;
  return (Object.keys(own).length === 0 ? rest : { ...rest, providerData: own }) as T;
};

function itemFor(name: string, item: AgentInputItem): AgentInputItem[] {
  const by: unknown = item.providerData?.[MARK];
  if (by === undefined) return [item];
  if (by === name) return [unmarkedItem(item)];
  if (PRIVATE.has(item.type)) return [];
  const { id: _id, providerData: _providerData, ...rest } = item;
  const readable = rest as AgentInputItem;
  if (!('content' in readable) || !Array.isArray(readable.content)) return [readable];
  return [{ ...readable, content: readable.content.map(withoutOwnData) } as AgentInputItem];
}

function withoutOwnData(part: object): object {
  const { providerData: _providerData, ...rest } = part as { providerData?: unknown };
  return rest;
}
