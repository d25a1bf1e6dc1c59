import { randomUUID } from 'node:crypto';
import type { FunctionTool } from '@openai/agents';
import { encodeUint8ArrayToBase64, toSmartString } from '@openai/agents/utils';
import { HoldfastError } from '../../core/errors/errors.js';
import { isInterruption } from '../../core/interruptions/wait.js';
import { canonical, isRecord, type JsonValue, toJson } from '../../core/json.js';
import { seededRandom } from '../../core/seeded-random.js';
import { noState } from '../../core/tools/agent-state.js';
import type { ToolContext, ToolSpec } from '../../core/tools/tool.js';
import { noEnvironment } from '../../core/tools/tool-environment.js';
import { noMemory } from '../../core/tools/tool-memory.js';
import { boundOutput } from './output-bound.js';
import { assertInvokable } from './watched-tool.js';

type ToolCallDetails = NonNullable<Parameters<FunctionTool['invoke']>[2]>;

/**
 * Runs a declared tool in a plain run of the Agents SDK. There are no grants outside the engine, so nothing is enforced:
 * `require` accepts everything. Time and output are bounded as inside.
 */
export async function executePlainly(
  spec: ToolSpec,
  input: unknown,
  details: ToolCallDetails = {},
): Promise<JsonValue> {
  await assertInvokable(spec.name);
  const timeout = AbortSignal.timeout(spec.timeoutMs);
  const signal = details.signal === undefined ? timeout : AbortSignal.any([details.signal, timeout]);
  const value = await Promise.race([
    spec.execute(input, contextOf(spec, details, signal)),
    aborted(spec, signal, timeout),
  ]);
  if (isInterruption(value)) {
    const what = `${spec.name} must wait (${value.spec.kind}), which only a run of the engine can do.`;
    throw new HoldfastError('engine_not_running', what);
  }
  const parsed = spec.parseOutput(value);
  if (!parsed.ok) throw new HoldfastError('tool_failed', parsed.problem);
  return boundOutput(spec, parsed.output);
}

function contextOf(spec: ToolSpec, details: ToolCallDetails, signal: AbortSignal): ToolContext {
  const callId = details.toolCall?.callId ?? randomUUID();
  const idempotencyKey = `plain:${callId}`;
  return {
    runId: 'plain',
    callId,
    tenant: 'default',
    agent: details.toolCall?.name ?? spec.name,
    idempotencyKey,
    signal,
    now: Date.now,
    logicalTime: async () => 0,
    state: noState('A plain run'),
    random: seededRandom(idempotencyKey),
    require: () => {},
    memory: noMemory('A plain run'),
    environment: noEnvironment('A plain run'),
  };
}

const aborted = (spec: ToolSpec, signal: AbortSignal, timeout: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    const stop = () => {
      const late = new HoldfastError('tool_failed', `${spec.name} did not end within ${spec.timeoutMs} ms.`);
      reject(timeout.aborted ? late : signal.reason);
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });

/** The output of a tool of the SDK: as JSON for the log, and as the text for the model where that is another one. */
export interface PlainOutput {
  readonly ok: true;
  readonly output: JsonValue;
  readonly text?: string;
}

/**
 * Returns what a tool of the SDK gave. The SDK makes a text of it, with names in the order of the tool, `undefined` as a word and
 * bytes in short. The log has canonical JSON, so that it keeps such a text beside it. Content parts are read by their fields.
 */
export function plainOutput(value: unknown): PlainOutput {
  if (isContent(value)) return { ok: true, output: toJson(withBase64(value)) };
  const text = String(toSmartString(value)).toWellFormed();
  const output = outputFrom(value, text);
  const isSaid = typeof output === 'string' ? output === text : readAgain(output) === text;
  return { ok: true, output, ...(isSaid ? {} : { text }) };
}

/** JSON as the SDK writes it that was canonical in between. */
const readAgain = (output: JsonValue): string => JSON.stringify(JSON.parse(canonical(output)));

/** A value that JSON cannot carry is its text. */
function outputFrom(value: unknown, text: string): JsonValue {
  try {
    return typeof value === 'object' && value !== null ? toJson(JSON.parse(text)) : toJson(value);
  } catch {
    return text;
  }
}

const MEDIA_FIELDS = ['image', 'imageUrl', 'file', 'fileId', 'data'] as const;

/** Whether the SDK hands a value to the model as content parts. */
const isContent = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 && value.every(isPart) : isPart(value);

function isPart(value: unknown): boolean {
  if (!isRecord(value) || Array.isArray(value)) return false;
  if (value['type'] === 'text') return typeof value['text'] === 'string';
  if (value['type'] !== 'image' && value['type'] !== 'file') return false;
  return MEDIA_FIELDS.some(
    (field) => isRecord(value[field]) || (typeof value[field] === 'string' && value[field] !== ''),
  );
}

/** Content parts whose bytes are base64, as the SDK writes them for the model. */
function withBase64(value: unknown): unknown {
  if (value instanceof Uint8Array) return encodeUint8ArrayToBase64(value);
  if (Array.isArray(value)) return value.map(withBase64);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withBase64(inner)]));
}
