import { z } from 'zod';
import { ENGINE_ADDRESS, enginePlace } from './containers/engine-address.js';
import { labelsOf } from './containers/worker-offer.js';
import type { FieldError } from './errors/errors.js';
import { exportRootsOf } from './exports/bucket-place.js';
import { hubRootsOf } from './exports/hub-place.js';
import { isOllamaAddress, OLLAMA_ADDRESS } from './models/ollama-address.js';
import { shownAddress } from './secrets/secret-patterns.js';

/** What a setting is made of: a name, what it may be, and what it is when nothing is said. */

export interface Kind<T> {
  readonly schema: z.ZodType<T, string>;
  readonly expected: string;
  /** Messages do not repeat the value. */
  readonly secret?: boolean;
}

export interface Setting<T> {
  readonly name: string;
  readonly default: string | null;
  readonly description: string;
  readonly kind: Kind<unknown>;
  readonly parse: (raw: string | undefined) => T;
}

export const optional = <T>(name: string, kind: Kind<T>, description: string): Setting<T | null> => ({
  name,
  kind,
  description,
  default: null,
  parse: (raw) => (raw === undefined ? null : kind.schema.parse(raw)),
});

export const setting = <T>(name: string, kind: Kind<T>, fallback: string, description: string): Setting<T> => ({
  name,
  kind,
  description,
  default: fallback,
  parse: (raw) => kind.schema.parse(raw ?? fallback),
});

/** Variables by their names, as an environment has them. */
export type Variables = { readonly [name: string]: string | undefined };

/** An empty variable counts as unset. */
export const valueIn = (variables: Variables, name: string): string | undefined =>
  variables[name] === '' ? undefined : variables[name];

/** What is wrong with the value of a setting; a secret is not repeated. Null: nothing, or it has none. */
export function problemOf({ name, kind }: Setting<unknown>, variables: Variables): FieldError | null {
  const value = valueIn(variables, name);
  if (value === undefined || kind.schema.safeParse(value).success) return null;
  const came =
    kind.secret === true ? 'has a value that is not shown here' : `is ${JSON.stringify(shownAddress(value))}`;
  return { pointer: `/${name}`, detail: `${name} ${came}; expected ${kind.expected}.` };
}

export const text = { schema: z.string(), expected: 'a text' };
export const secret = { ...text, secret: true };
export const header = {
  ...text,
  schema: z.string().regex(/^[\x21-\x7e]+$/),
  expected: 'visible ASCII characters',
  secret: true,
};
const DATABASE = 'postgresql://user:password@host:port/database';
export const database = {
  schema: z.string().regex(/^postgres(ql)?:\/\//, `expected ${DATABASE}`),
  expected: DATABASE,
  secret: true,
};
export const webAddress = { schema: z.url({ protocol: /^https?$/ }), expected: 'an address with http:// or https://' };
/** An address that may hold a password. */
export const modelServer = { ...webAddress, secret: true };
export const ollamaServer = { schema: z.string().refine(isOllamaAddress), expected: OLLAMA_ADDRESS, secret: true };
/** A place in an object store, or more with spaces between them. */
export const exportRoots = {
  schema: z
    .string()
    .refine((value) => exportRootsOf(value) !== null)
    .transform((value) => exportRootsOf(value) ?? []),
  expected: 's3://bucket/prefix, with {tenant} as a part of it where other tenants export, and spaces between several',
};
/** A place on a Hub, or more with spaces between them. */
export const hubRoots = {
  schema: z
    .string()
    .refine((value) => hubRootsOf(value) !== null)
    .transform((value) => hubRootsOf(value) ?? []),
  expected:
    'hf://datasets/owner, or a repository or folder below it, with {tenant} as a part where other tenants export, and spaces between several',
};
/** As other clients of container engines have it. */
export const dockerHost = {
  schema: z.string().refine((value) => enginePlace(value) !== null),
  expected: ENGINE_ADDRESS,
};
export const labels = {
  schema: z
    .string()
    .refine((value) => labelsOf(value) !== null)
    .transform((value) => labelsOf(value) ?? {}),
  expected: 'at most 8 labels such as gpu=a100,zone=b, in small letters, digits and - . _ / inside',
};
export const region = {
  schema: z.string().regex(/^[a-z0-9-]{1,40}$/),
  expected: 'the name of a region, such as eu-central-1',
};
export const workerId = {
  schema: z.string().regex(/^[\w.:-]{1,100}$/),
  expected: 'at most 100 letters, digits and the characters . _ : -',
};
export const host = { schema: z.string().regex(/^[\w.:-]{1,255}$/), expected: 'a host name or an IP address' };

export const whole = (min: number, max: number) => ({
  schema: z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number)
    .pipe(z.number().min(min).max(max)),
  expected: `a whole number from ${min} to ${max}`,
});
export const port = whole(0, 65_535);

export const oneOf = <const T extends readonly string[]>(values: T) => ({
  schema: z.enum(values),
  expected: `one of ${values.join(', ')}`,
});
