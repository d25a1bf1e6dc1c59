import { z } from 'zod';
import type { FieldError } from '../../core/errors/errors.js';
import { NATIVE_PROVIDERS } from '../../core/models/model-provider-table.js';
import { problemsOf } from '../openai/openai-compatible-options.js';
import type { Secret } from '../secrets/secret.js';

export interface NativeApiOptions {
  /** The known provider whose API the server speaks: `anthropic-native` or `google-native`. */
  readonly like: 'anthropic-native' | 'google-native';
  /** The address of the API, up to its version (`…/v1`, `…/v1beta`). Default: that of the known provider. */
  readonly baseURL?: string;
  /** The key or its place. The key goes to `baseURL` and nowhere else. Null = no key is sent. */
  readonly key?: string | Secret | null;
  /** More headers of every request. */
  readonly headers?: Readonly<Record<string, string | Secret>>;
  /** Whether Anthropic keeps the beginning of a conversation for five minutes. Default true. */
  readonly cache?: boolean;
  /** How long the server may be silent, before an answer and in it. Default and at most 300,000 ms. */
  readonly timeoutMs?: number;
  /** A directory, to which Holdfast records all traffic (docs/models/cassettes.md). Default: none. */
  readonly recordTo?: string;
}

const known = Object.keys(NATIVE_PROVIDERS);
const own = z.object({
  like: z.enum(known, `expected one of ${known.join(', ')}`),
  cache: z.boolean('expected true or false').optional(),
});

/** Returns every field that is wrong, with the expected value. Values are not repeated. */
export function nativeProblems(options: NativeApiOptions): readonly FieldError[] {
  const { like, cache, ...shared } = options;
  const { error } = own.safeParse({ like, cache });
  if (error !== undefined)
    return error.issues.map(({ path, message }) => ({ pointer: `/${path.join('/')}`, detail: message }));
  const row = NATIVE_PROVIDERS[like];
  const { baseURL = row?.baseURL ?? '', key } = shared;
  const problems = [...problemsOf({ ...shared, baseURL })];
  if (cache !== undefined && row?.api !== 'anthropic')
    problems.push({ pointer: '/cache', detail: 'expected none: Gemini caches by itself' });
  if (row !== undefined && baseURL !== row.baseURL && key === undefined)
    problems.push({
      pointer: '/key',
      detail: `is missing: ${row.keyVariable} is for ${row.title} and not sent elsewhere; expected a key, or null`,
    });
  return problems;
}
