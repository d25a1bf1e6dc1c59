import type { ModelRequest } from '@openai/agents';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { checkCapability } from '../../src/core/grants/capability.js';
import { canonical, sha256, toJson } from '../../src/core/json.js';
import type { EventData } from '../../src/core/log/event.js';
import { type SegmentContext, SegmentStop } from '../segment-context.js';

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

/** They lead to function tools of the agent alone, and each call of these is judged by itself. */
const REACHES_GUARDED_TOOLS: ReadonlySet<string> = new Set(['tool_search', 'programmatic_tool_calling']);

/**
 * Refuses a request that offers the model a tool of its provider which is not granted: the provider executes it within the model call, so
 * it is judged before, as an unsafe call. `ask` refuses too: the worker never hears of such a call in time. What a log has was let
 * through before.
 */
export function assertHostedGranted(scope: SegmentContext, { tools }: ModelRequest): void {
  if (scope.source.asked(scope.turns + 1)) return;
  for (const tool of tools) {
    if (tool.type !== 'hosted_tool' || REACHES_GUARDED_TOOLS.has(tool.name)) continue;
    const capability = `hosted:call:${tool.name}`;
    const check = checkCapability(scope.run.grants, capability, scope.memory.labels);
    if (check.effect === 'allow') continue;
    const how =
      check.effect === 'ask' ? 'the grant asks, and no person can be asked within a model call' : check.reason;
    const message = `The tool ${tool.name} of the provider is not granted: ${how} Grant ${capability}, or take the tool away.`;
    scope.stop = { type: 'failed', error: new HoldfastError('capability_denied', message).view() };
    throw new SegmentStop(scope.stop);
  }
}
