import type { ModelRequest } from '@openai/agents';
import { canonical, sha256, toJson } from '../../src/core/json.js';
import type { EventData } from '../../src/core/log/event.js';

export type RequestTerms = NonNullable<EventData<'model.requested'>['terms']>;
type Tool = ModelRequest['tools'][number];

export const toolNames = ({ tools }: ModelRequest): string[] =>
  tools.map((tool) =>
    tool.type === 'function' && tool.namespace !== undefined ? `${tool.namespace}.${tool.name}` : tool.name,
  );

/** The names of what the model may call: tools, and after them handoffs. */
export const offeredNames = (request: ModelRequest): string[] => [
  ...toolNames(request),
  ...request.handoffs.map(({ toolName }) => toolName),
];

/**
 * Digests of what a provider is sent beside instructions and items: SHA-256 over the canonical JSON of each part. A part that says
 * nothing is left out.
 */
export function termsOf(request: ModelRequest): RequestTerms {
  const { tools, handoffs, modelSettings, outputType } = request;
  const { prompt, overridePromptModel, conversationId, previousResponseId } = request;
  const offered = [...tools.map(textOfTool), ...handoffs.map(textOfHandoff)];
  const settings = toJson(modelSettings);
  const stored = toJson({ prompt, overridePromptModel, conversationId, previousResponseId });
  return {
    ...(offered.length > 0 && { tools: sha256(`[${offered.join()}]`) }),
    ...(isTelling(settings) && { settings: sha256(canonical(settings)) }),
    ...(outputType !== 'text' && { output: sha256(canonical(toJson(outputType))) }),
    ...(isTelling(stored) && { prompt: sha256(canonical(stored)) }),
  };
}

const isTelling = (value: unknown): boolean => canonical(value) !== '{}';

interface KnownText {
  readonly tool: Tool;
  readonly text: string;
}

/** By the schema of the tool, which stays the same object from turn to turn. */
const known = new WeakMap<object, KnownText>();

function textOfTool(tool: Tool): string {
  if (tool.type !== 'function') return canonical(toJson(tool));
  const before = known.get(tool.parameters);
  if (before !== undefined && isSame(before.tool, tool)) return before.text;
  const text = canonical(toJson(tool));
  known.set(tool.parameters, { tool, text });
  return text;
}

const isSame = (one: Tool, other: Tool): boolean => {
  const [left, right] = [Object.entries(one), new Map<string, unknown>(Object.entries(other))];
  return left.length === right.size && left.every(([name, value]) => right.get(name) === value);
};

const textOfHandoff = ({ toolName, toolDescription, inputJsonSchema, strictJsonSchema }: Handoff): string =>
  canonical(toJson({ toolName, toolDescription, inputJsonSchema, strictJsonSchema }));

type Handoff = ModelRequest['handoffs'][number];
