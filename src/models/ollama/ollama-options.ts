import { type ModelSettings, UserError } from '@openai/agents';
import { z } from 'zod';
import type { FieldError } from '../../core/errors/errors.js';
import { fieldErrorsOf, invalidConfig } from '../../core/field-errors.js';
import { isOllamaAddress, OLLAMA_ADDRESS } from '../../core/models/ollama-address.js';
import { unknownNames } from '../../core/nearest-name.js';
import { timeoutOption } from '../openai/openai-compatible-options.js';
import { isSecret, type Secret } from '../secrets/secret.js';
import type { OllamaRequest } from './ollama-wire.js';

const address = z
  .string(`expected ${OLLAMA_ADDRESS}`)
  .refine((text) => text.trim() === '' || isOllamaAddress(text), `expected ${OLLAMA_ADDRESS}`)
  .nullish();

const key = z
  .custom<string | Secret>((value) => typeof value === 'string' || isSecret(value), 'expected a text or a secret')
  .nullish();

const callback = z.custom<(...args: never[]) => unknown>((value) => typeof value === 'function', 'expected a function');

/** A duration of Go, which Ollama reads: numbers with units. */
const DURATION = /^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+)$/;

const keepAlive = z.custom<number | string>(
  (value) => (typeof value === 'string' ? DURATION.test(value) : Number.isFinite(value)),
  'expected seconds, or a duration as "10m"',
);

const shape = z.object({
  baseURL: address,
  apiKey: key,
  ollamaHost: address,
  ollamaApiKey: key,
  numCtx: z.int('expected a whole number').min(1, 'expected at least 1').optional(),
  keepAlive: keepAlive.optional(),
  think: z.union([z.boolean('expected true or false'), z.string('a level')]).optional(),
  options: z.record(z.string(), z.unknown(), 'expected an object').optional(),
  toolImages: z.enum(['tool', 'user'], 'expected tool or user').optional(),
  extractThinking: z.boolean('expected true or false').optional(),
  timeoutMs: timeoutOption.optional(),
  newId: callback.optional(),
  fetch: callback.optional(),
  recordTo: z.string().min(1, 'expected the path of a directory').optional(),
});

/** Every option that is wrong or not known, with what was expected. Values are not repeated. */
export function ollamaProblems(options: object): readonly FieldError[] {
  const { error } = shape.safeParse(options);
  return [...unknownNames(options, Object.keys(shape.shape)), ...(error === undefined ? [] : fieldErrorsOf(error))];
}

/** Throws `config_invalid` that names every option that is wrong. */
export function assertOllamaOptions(options: object): void {
  const fields = ollamaProblems(options);
  if (fields.length > 0) throw invalidConfig('The Ollama models', fields);
}

export interface OllamaSettingsOptions {
  /** Tokens of the context. Without it the server decides, often 4,096. */
  readonly numCtx?: number;
  /** How long the model stays loaded: seconds, or a duration as "10m"; 0 unloads it at once, -1 never. */
  readonly keepAlive?: number | string;
  /** Whether or how hard a model thinks when `modelSettings.reasoning` does not say; left out for models that cannot. */
  readonly think?: boolean | string;
  /** Any other option of the model, such as `top_k`, under Ollama's name. */
  readonly options?: Readonly<Record<string, unknown>>;
}

/** `modelSettings.providerData`: fields of the request under Ollama's names; every other name is an option of the model. */
const provided = z.looseObject({
  keep_alive: z.union([z.number(), z.string()]).optional(),
  think: z.union([z.boolean(), z.string()]).optional(),
  format: z.union([z.string(), z.record(z.string(), z.unknown())]).optional(),
  truncate: z.boolean().optional(),
  logprobs: z.boolean().optional(),
  top_logprobs: z.int().min(0).max(20).optional(),
  options: z.record(z.string(), z.unknown()).optional(),
  model: z.undefined('comes from the name of the model').optional(),
  messages: z.undefined('come from the input').optional(),
  tools: z.undefined('come from the agent').optional(),
  stream: z.undefined('is decided by the call').optional(),
});

interface OllamaSettings {
  readonly fields: Pick<OllamaRequest, 'keep_alive' | 'think' | 'truncate' | 'logprobs' | 'top_logprobs' | 'options'>;
  readonly format: string | object | null;
  /** `think` comes from the options of the provider, not from who asked for this call. */
  readonly thinkIsDefault: boolean;
}

/** Settings of a call under Ollama's names. Only what is set is sent. Throws a UserError that names a wrong setting. */
export function ollamaSettings(model: string, settings: ModelSettings, options: OllamaSettingsOptions): OllamaSettings {
  const parsed = provided.safeParse(settings.providerData ?? {});
  if (!parsed.success) {
    const wrong = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
    throw new UserError(`modelSettings.providerData is not valid for Ollama: ${wrong.join('; ')}.`);
  }
  const { keep_alive, think, format, truncate, logprobs, top_logprobs, options: nested, ...rest } = parsed.data;
  const asked = effort(settings.reasoning?.effort) ?? think;
  const thinking = asked ?? options.think;
  const keepAlive = keep_alive ?? options.keepAlive;
  const whole = truncate ?? (settings.truncation === 'disabled' ? false : undefined);
  const all = onlySet({
    num_ctx: options.numCtx,
    ...options.options,
    temperature: settings.temperature,
    top_p: settings.topP,
    frequency_penalty: settings.frequencyPenalty,
    presence_penalty: settings.presencePenalty,
    num_predict: settings.maxTokens,
    ...rest,
    ...nested,
  });
  return {
    fields: {
      ...(keepAlive === undefined ? {} : { keep_alive: keepAlive }),
      ...(thinking === undefined ? {} : { think: levelled(model, thinking) }),
      ...(whole === undefined ? {} : { truncate: whole }),
      ...(logprobs === undefined && top_logprobs === undefined ? {} : { logprobs: logprobs ?? true }),
      ...(top_logprobs === undefined ? {} : { top_logprobs }),
      ...(Object.keys(all).length === 0 ? {} : { options: all }),
    },
    format: format ?? null,
    thinkIsDefault: asked === undefined && thinking !== undefined,
  };
}

const EFFORTS: Readonly<Record<string, boolean | string>> = {
  none: false,
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'max',
  max: 'max',
};

function effort(asked: string | null | undefined): boolean | string | undefined {
  if (asked === undefined || asked === null) return undefined;
  const think = Object.hasOwn(EFFORTS, asked) ? EFFORTS[asked] : undefined;
  if (think !== undefined) return think;
  throw new UserError(`reasoning.effort is "${asked}"; Ollama knows ${Object.keys(EFFORTS).join(', ')}.`);
}

/** gpt-oss always thinks and takes only a level: it ignores true and false. */
function levelled(model: string, think: boolean | string): boolean | string {
  const isGptOss = /(?:^|\/)gpt-oss(?:[:-]|$)/i.test(model);
  if (!isGptOss || typeof think === 'string') return think;
  return think ? 'medium' : 'low';
}

const onlySet = (values: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
