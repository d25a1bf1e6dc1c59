import { REDACTED } from './redaction.js';

/** What looks like a secret by its name or its form, whether anybody declared it or not. */

const HIDDEN = REDACTED;

const WORDS = new Set([
  ...['token', 'tokens', 'secret', 'secrets', 'password', 'passwords', 'passwd', 'pwd', 'passphrase', 'passcode'],
  ...['auth', 'authorization', 'authentication', 'oauth', 'cookie', 'cookies', 'credential', 'credentials', 'creds'],
  ...['jwt', 'bearer', 'signature', 'sig', 'dsn', 'apikey', 'apikeys', 'xapikey', 'accesskey', 'secretkey'],
  ...['privatekey', 'signingkey', 'databaseurl', 'connectionstring', 'accesstoken', 'refreshtoken', 'authtoken'],
  ...['idtoken', 'sessionid', 'sessiontoken', 'clientsecret', 'pgpassword', 'sas'],
]);
/** Keys that open nothing. */
const PLAIN_KEYS = new Set([
  ...['public', 'primary', 'foreign', 'idempotency', 'partition', 'sort', 'cache', 'object', 'bucket', 'natural'],
  ...['routing', 'queue', 'lookup', 'group', 'row', 'map', 'json', 'reasoning', 'verifying', 'verify'],
]);

/** Whether a field, a header, a variable or a parameter of an URL of this name holds a secret. */
export function isSecretName(name: string): boolean {
  const words = name
    .slice(0, 200)
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z\d]+/)
    .filter((word) => word !== '');
  if (words.some((word) => WORDS.has(word)) || WORDS.has(words.join(''))) return true;
  if (words.some((word, index) => WORDS.has(`${word}${words[index + 1] ?? ''}`))) return true;
  const last = words.at(-1);
  const before = words.at(-2);
  return (last === 'key' || last === 'keys') && before !== undefined && !PLAIN_KEYS.has(before);
}

const NAMED = /(["']?)([\w.-]{2,100})\1\s{0,3}([=:])(\s{0,3})/g;
const VALUE = /"[^"]{1,4000}"|'[^']{1,4000}'|[^\s"'&,;(){}[\]<>]{1,4000}/y;
/** A word that a sentence has behind a colon. */
const PROSE = /^[a-z]{1,15}\.?$/;
/** A way to authenticate, what is hidden already, and a count. */
const SHOWN = /^(bearer|basic|\[redacted\]|\d{1,9})$/i;

const LOOKS: readonly (readonly [RegExp, string])[] = [
  [/(\b[a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/?#"'<>]{1,2000}@/gi, `$1${HIDDEN}@`],
  [/(\b(?:set-)?cookie["']?\s{0,3}[:=]\s{0,3})[^\r\n]{1,4000}/gi, `$1${HIDDEN}`],
  [/\b(bearer|basic)\s{1,3}(?=[^\s]{0,200}[\d+/=_.~-])[\w.~+/=*-]{4,4000}/gi, `$1 ${HIDDEN}`],
  [/\b(bearer|basic)\s{1,3}[\w~+/=*-]{8,4000}/gi, `$1 ${HIDDEN}`],
  [/\bsk-[\w*.-]{4,400}/g, HIDDEN],
  // The form of Ollama's own keys: 32 hexadecimal digits, a dot, a random part.
  [/\b[0-9a-f]{32}\.[\w-]{8,400}/gi, HIDDEN],
];

/**
 * A value that should have been an address, fit for an error: nothing of it is left in front of its last `@`, where a user and a
 * password are, however it is written.
 */
export const shownAddress = (value: string): string => {
  const at = value.lastIndexOf('@');
  if (at === -1) return withoutLooks(value);
  const scheme = /^[a-z][a-z\d+.-]{0,30}:(?:\/\/)?/i.exec(value)?.[0] ?? '';
  return withoutLooks(`${scheme}${HIDDEN}${value.slice(at)}`);
};

/** The text without what looks like a secret: user and password of an address, and what stands behind the name of a secret. */
export const withoutLooks = (text: string): string =>
  withoutNamed(LOOKS.reduce((rest, [look, instead]) => rest.replace(look, instead), text));

function withoutNamed(text: string): string {
  let clean = '';
  let from = 0;
  NAMED.lastIndex = 0;
  for (let named = NAMED.exec(text); named !== null; named = NAMED.exec(text)) {
    const [, quote = '', name = '', sign, space = ''] = named;
    if (!isSecretName(name)) continue;
    const start = NAMED.lastIndex;
    VALUE.lastIndex = start;
    const value = VALUE.exec(text)?.[0] ?? '';
    // "The token: expected a text" says what is wrong, and names no token.
    const isProse = quote === '' && sign === ':' && space !== '' && PROSE.test(value);
    if (value === '' || isProse || SHOWN.test(value)) continue;
    const around = /^["']/.test(value) ? value.charAt(0) : '';
    clean += `${text.slice(from, start)}${around}${HIDDEN}${around}`;
    from = start + value.length;
    NAMED.lastIndex = from;
  }
  return from === 0 ? text : clean + text.slice(from);
}
