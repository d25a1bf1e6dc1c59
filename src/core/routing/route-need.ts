import type { JsonObject } from '../json.js';
import { isRecord } from '../json.js';
import type { ModelCapability } from './router-config.js';

const LONGEST_TASK_TYPE = 64;

const taskTypeOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' && value.length <= LONGEST_TASK_TYPE ? value : null;

/** The type of task that a run says it is: `taskType` of its metadata. */
export const taskTypeIn = ({ taskType }: JsonObject): string | null => taskTypeOf(taskType);

/** A request to a model, as far as it says what the model must be able to do. */
export interface AskedRequest {
  readonly systemInstructions?: string | undefined;
  readonly input: unknown;
  readonly tools: readonly unknown[];
  readonly handoffs: readonly unknown[];
  readonly outputType: unknown;
  readonly modelSettings: {
    readonly maxTokens?: number | undefined;
    readonly providerData?: { readonly [name: string]: unknown } | undefined;
  };
}

/** What a request needs of the model that answers it. */
export interface RouteNeed {
  readonly capabilities: readonly ModelCapability[];
  /** By the length of what goes in; null: it was not asked for. */
  readonly inputTokens: number | null;
  /** The most that may come out; null: the request does not say. */
  readonly maxOutputTokens: number | null;
  readonly taskType: string | null;
}

/** `taskType`: of the run. What the model settings of an agent say (`providerData.router.taskType`) goes before it. */
export function needOf(request: AskedRequest, taskType: string | null, counted: boolean): RouteNeed {
  const { tools, handoffs, outputType, modelSettings } = request;
  const capabilities: ModelCapability[] = [];
  if (tools.length + handoffs.length > 0) capabilities.push('tools');
  if (hasImage(request.input, 0)) capabilities.push('vision');
  if (outputType !== 'text') capabilities.push('structured_output');
  const own = modelSettings.providerData?.['router'];
  const named = isRecord(own) ? taskTypeOf(own['taskType']) : null;
  return {
    capabilities,
    inputTokens: counted ? tokensIn(request) : null,
    maxOutputTokens: modelSettings.maxTokens ?? null,
    taskType: named ?? taskType,
  };
}

/** Images stand in messages, and in the results of calls. */
const DEEPEST_IMAGE = 4;

function hasImage(value: unknown, depth: number): boolean {
  if (!isRecord(value) || depth > DEEPEST_IMAGE) return false;
  if (Array.isArray(value)) return value.some((one) => hasImage(one, depth + 1));
  const { type } = value;
  if (type === 'input_image' || type === 'image') return true;
  return hasImage(value['content'], depth + 1) || hasImage(value['output'], depth + 1);
}

/** Of UTF-8, which is near enough for English, for code, and for scripts whose letters are tokens of their own. */
const BYTES_PER_TOKEN = 4;
/** What providers count for an image of middling size, however many bytes it has. */
const TOKENS_OF_MEDIA = 1_000;
const DEEPEST = 12;

/** About how many tokens a request has. */
function tokensIn({ systemInstructions, input, tools, handoffs, outputType }: AskedRequest): number {
  return Math.ceil(tokensOf([systemInstructions, input, tools, handoffs, outputType], 0));
}

function tokensOf(value: unknown, depth: number): number {
  if (typeof value === 'string') {
    return value.startsWith('data:') ? TOKENS_OF_MEDIA : Buffer.byteLength(value) / BYTES_PER_TOKEN;
  }
  if (!isRecord(value) || depth > DEEPEST) return typeof value === 'number' ? 1 : 0;
  let sum = 0;
  for (const key in value) {
    const inner = value[key];
    sum += key.length / BYTES_PER_TOKEN / 2 + tokensOf(inner, depth + 1);
  }
  return sum;
}
