import { z } from 'zod';
import { type InstallationRole, installationRole, type Role, role } from './caller.js';
import { type FieldError, HoldfastError } from './errors/errors.js';
import { nameText, nameWithoutControls } from './json.js';

/** A bearer token and whose it is. Never logged, never printed but as part of the address at the first start. */
export interface Token {
  readonly token: string;
  readonly actor: string;
  readonly role: Role;
  readonly tenant: string;
  readonly installation?: InstallationRole;
}

const FIRST_TENANT = 'default';

/**
 * The part that a token has in the installation: what it says itself. Where no token of a list says anything, as in lists of builds
 * that had one tenant in mind, the tenant `default` has all of it: its admins operate, its other tokens read.
 */
export function installationOf(token: Token, all: readonly Token[]): InstallationRole | undefined {
  if (all.some(({ installation }) => installation !== undefined)) return token.installation;
  if (token.tenant !== FIRST_TENANT) return undefined;
  return token.role === 'admin' ? 'operator' : 'viewer';
}

export const TOKEN_LENGTH_MIN = 16;

/** What is wrong with settings; `detail` repeats no secret. */
export const invalidSettings = (...fields: readonly FieldError[]): HoldfastError =>
  new HoldfastError('config_invalid', fields.map((field) => field.detail).join(' '), { fields });

const tokenList = z
  .array(
    z.strictObject({
      token: z
        .string()
        .min(TOKEN_LENGTH_MIN)
        .regex(/^[\x21-\x7e]+$/, 'expected visible ASCII characters without spaces'),
      actor: nameText,
      role,
      tenant: nameWithoutControls.default(FIRST_TENANT),
      installation: installationRole.exactOptional(),
    }),
  )
  .min(1)
  .refine((tokens) => new Set(tokens.map(({ token }) => token)).size === tokens.length, 'a token is there twice');

/** A name that is not known may be a token in the wrong place. */
const saidOf = (issue: z.core.$ZodIssue): string =>
  issue.code === 'unrecognized_keys' && !issue.keys.every((key) => /^[a-z]{1,14}$/i.test(key))
    ? 'it has a member that is not known, whose name is not shown here'
    : issue.message;

/** The tokens of a setting that is called `source`. Throws `config_invalid`, whose messages never repeat what was read. */
export function parseTokens(source: string, json: string): readonly Token[] {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw invalidSettings({
      pointer: `/${source}`,
      detail: `${source} does not hold JSON; expected a JSON ${EXPECTED}.`,
    });
  }
  return readTokens(source, value, `a JSON ${EXPECTED}`);
}

const EXPECTED = 'list of {"token", "actor", "role", "tenant"?, "installation"?}';

/** The tokens that a program gives. Throws `config_invalid`, whose messages never repeat what was read. */
export function readTokens(source: string, value: unknown, expected = `a ${EXPECTED}`): readonly Token[] {
  const parsed = tokenList.safeParse(value);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map((issue) => {
    const place = issue.path.length === 0 ? '' : ` at /${issue.path.join('/')}`;
    return { pointer: `/${source}`, detail: `${source} is wrong${place}: ${saidOf(issue)}; expected ${expected}.` };
  });
  throw invalidSettings(...fields);
}
