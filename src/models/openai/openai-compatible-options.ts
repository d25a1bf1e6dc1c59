import { z } from 'zod';
import type { FieldError } from '../../core/errors/errors.js';
import { fieldErrorsWithNames } from '../../core/field-errors.js';
import { MODEL_PROVIDERS, type Quirks } from '../../core/models/model-provider-table.js';
import { isKeyText, isSecret, type Secret } from '../secrets/secret.js';
import { DEFAULT_TIMEOUT_MS } from './endpoint.js';

export interface OpenAICompatibleOptions {
  /** A known provider (docs/models/README.md) that says what is left out here: `groq`, `vllm`, … */
  readonly like?: string;
  /** Where the API is, mostly with `/v1` at the end. May hold a user and a password. */
  readonly baseURL?: string;
  /** The key, or where it is. It goes to `baseURL` and nowhere else. Null: none is sent. */
  readonly key?: string | Secret | null;
  /** Which of the two APIs of OpenAI is spoken. Default `chat`, Chat Completions. */
  readonly api?: 'chat' | 'responses';
  /** More headers of every request. */
  readonly headers?: Readonly<Record<string, string | Secret>>;
  readonly quirks?: Quirks;
  /** How long the server may say nothing: until an answer begins, and between its pieces. Default and at most 300,000 ms. */
  readonly timeoutMs?: number;
  /** A directory, to which all traffic is recorded (docs/models/cassettes.md). Default: none. */
  readonly recordTo?: string;
}

export const WEB = 'expected an address with http:// or https://, without a query';
const KEY =
  'expected visible ASCII characters without spaces, or what secret.env(), secret.file() or secret.command() gives';

const keyText = z.string(KEY).refine(isKeyText, KEY);
/** Of a secret only what its declaration says is judged: nothing is read. */
const secret = z.custom<Secret>(isSecret, KEY).superRefine(({ problem }, context) => {
  if (problem) context.addIssue({ code: 'custom', message: problem });
});
const keyOrSecret = z.unknown().superRefine((value, context) => {
  const { error } = (typeof value === 'string' ? keyText : secret).safeParse(value);
  for (const { message } of error?.issues ?? []) context.addIssue({ code: 'custom', message });
});

const header = z.unknown().superRefine((value, context) => {
  const { error } = (
    typeof value === 'string' ? z.string().regex(/^[\x20-\x7e]*$/, 'expected ASCII characters') : secret
  ).safeParse(value);
  for (const { message } of error?.issues ?? []) context.addIssue({ code: 'custom', message });
});

/** How long a server may say nothing. */
export const timeoutOption = z
  .int('expected whole milliseconds')
  .min(1, 'expected at least 1')
  .max(DEFAULT_TIMEOUT_MS, `expected at most ${DEFAULT_TIMEOUT_MS}`);

const known = Object.keys(MODEL_PROVIDERS);

const shape = z.strictObject(
  {
    like: z.enum(known, `expected one of ${known.join(', ')}`).optional(),
    baseURL: z.string(WEB).refine(isWebAddress, WEB).optional(),
    key: keyOrSecret.nullish(),
    api: z.enum(['chat', 'responses'], 'expected chat or responses').optional(),
    headers: z
      .record(z.string().regex(/^[!#$%&'*+.^_`|~\w-]+$/, 'expected the name of a header'), header, 'expected an object')
      .optional(),
    quirks: z
      .strictObject({
        maxTokens: z
          .enum(['max_tokens', 'max_completion_tokens'], 'expected max_tokens or max_completion_tokens')
          .optional(),
        structuredOutput: z
          .enum(['json_schema', 'json_object', 'prompt'], 'expected json_schema, json_object or prompt')
          .optional(),
        callIds: z.enum(['word', 'nine'], 'expected word or nine').optional(),
        omit: z.array(z.string().min(1), 'expected a list of names of fields').optional(),
      })
      .optional(),
    timeoutMs: timeoutOption.optional(),
    recordTo: z.string().min(1, 'expected the path of a directory').optional(),
  },
  'expected an object',
);

export function isWebAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, search, hash, username, password } = new URL(text);
  if (!/^https?:$/.test(protocol) || hostname === '' || search !== '' || hash !== '') return false;
  try {
    return decodeURIComponent(`${username}${password}`) !== null;
  } catch {
    return false;
  }
}

const hasUser = (address: string): boolean => new URL(address).username !== '' || new URL(address).password !== '';

/** Every field that is wrong, with what was expected. Values are not repeated. */
export function problemsOf(options: OpenAICompatibleOptions): readonly FieldError[] {
  const { error } = shape.safeParse(options);
  if (error !== undefined) return fieldErrorsWithNames(error, options, Object.keys(shape.shape));
  const { like, baseURL, key = null, headers = {} } = options;
  const problems: FieldError[] = [];
  const say = (pointer: string, detail: string): number => problems.push({ pointer, detail });
  if (like === undefined && baseURL === undefined) say('/baseURL', `is missing; ${WEB}`);
  const row = like === undefined ? undefined : MODEL_PROVIDERS[like];
  if (row?.needsKey === true && baseURL !== undefined && options.key === undefined && !hasUser(baseURL)) {
    say('/key', `is missing: ${row.keyVariable} is for ${row.title} and not sent elsewhere; expected a key, or null`);
  }
  if (key !== null && baseURL !== undefined && hasUser(baseURL))
    say('/key', 'expected none: baseURL holds a user or a password');
  const authorization = Object.keys(headers).find((name) => name.toLowerCase() === 'authorization');
  if (authorization !== undefined && (key !== null || (baseURL !== undefined && hasUser(baseURL)))) {
    say(`/headers/${authorization}`, 'expected either this header or a key');
  }
  return problems;
}
