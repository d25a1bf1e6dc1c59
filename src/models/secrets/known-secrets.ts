import { REDACTED, textsBy } from '../../core/exports/redaction.js';
import type { JsonValue } from '../../core/json.js';
import { SECRET_LENGTH_MIN } from '../../core/secrets/secret-forms.js';
import { SecretMatcher, type SecretScan } from '../../core/secrets/secret-matcher.js';
import { isSecretName } from '../../core/secrets/secret-patterns.js';

/**
 * What this process knows as secret: every one that is declared (src/engine/secrets/declared-secrets.ts), and every key that was read since.
 * Whatever becomes an error, an event, an answer or a line of a log goes through it.
 */

/** Keys change: the oldest are forgotten, long after their servers have. */
const MAX_KNOWN = 5000;
/** What is shorter may be a word that a model says. */
const SPOKEN_MIN = 16;
/** So few characters of a secret tell nothing. */
const SHOWN_MIN = 5;

/** Headers whose values are secret, whatever they look like. */
export const isSecretHeader = (name: string): boolean =>
  /auth|key|token|secret|cookie|credential|password|signature/i.test(name);

const known = new Set<string>();
const matchers = new Map<number, SecretMatcher>();

/** Makes a secret known for as long as the process lives. */
export function knowSecret(value: string): void {
  if (value.length < SECRET_LENGTH_MIN) return;
  if (!known.has(value)) matchers.clear();
  known.delete(value);
  known.add(value);
  if (known.size <= MAX_KNOWN) return;
  const [oldest] = known;
  if (oldest !== undefined) known.delete(oldest);
}

/** Makes known what an address holds as secret: its password, or its user where there is none and that may be a key, and parameters that are named so. */
export function knowAddress(address: string): void {
  const url = /^[a-z][a-z\d+.-]*:\/\//i.test(address) && URL.canParse(address) ? new URL(address) : null;
  if (url === null) return;
  const { username, password, searchParams, protocol } = url;
  const secret = password === '' ? username : password;
  // A user of PostgreSQL without a password is a name, not a key. Who is called as the password is says it with every login.
  const isName = password === '' && /^postgres(ql)?:$/.test(protocol);
  if (password !== username && !isName)
    for (const one of [secret, decoded(secret), password === '' ? '' : `${decoded(username)}:${decoded(password)}`])
      knowSecret(one);
  for (const [name, value] of searchParams) if (isSecretName(name)) knowSecret(value);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A matcher that is made when it is needed, of what is known then. */
const matcherOf = (leastChars: number) => () => {
  const made = matchers.get(leastChars) ?? new SecretMatcher(known, leastChars);
  matchers.set(leastChars, made);
  return made;
};
const all = matcherOf(SECRET_LENGTH_MIN);
const spoken = matcherOf(SPOKEN_MIN);

const hidden = (): string => REDACTED;

/** The text without any secret that is known, in any of its forms. */
export const withoutKnownSecrets = (text: string): string => all().replace(text, hidden);

/** The beginning of a text without any secret in it, and without an end that may be the beginning of one. */
export const shownBeginning = (text: string): string => all().stream(hidden).push(text);

/** The same for a text that may be a beginning only. */
export const shownPart = (text: string, isCut: boolean): string =>
  isCut ? shownBeginning(text) : withoutKnownSecrets(text);

/** The same for all texts and names in a value. One without a secret comes back as it is. */
export const withoutKnownSecretsIn = textsBy(withoutKnownSecrets);

/** The same for a value that is about to become JSON. */
export const withoutSecrets = (value: unknown): unknown => withoutKnownSecretsIn(value as JsonValue);

export const holdsSecret = (value: unknown): boolean => withoutSecrets(value) !== value;

/** For what a model says. */
export const withoutSpokenSecretsIn: (value: JsonValue) => JsonValue = textsBy((text) =>
  spoken().replace(text, hidden),
);

/** For the bytes of what a model says, piece by piece. */
export const spokenScan = (): SecretScan => spoken().stream(hidden);

/** The same for its words, which are shown as they come: what ends like the first letters of a secret does not wait. */
export const shownScan = (): SecretScan => spoken().stream(hidden, SHOWN_MIN);

/** The text with a star for each character of a secret, so that nothing else of it moves. */
export const starredSecrets = (text: string): string => all().replace(text, (length) => '*'.repeat(length));
