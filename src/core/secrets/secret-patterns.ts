import { REDACTED } from '../exports/redaction.js';

/** What looks like a secret by its name or its form, whether anybody declared it or not. */

const HIDDEN = REDACTED;

const WORDS = new Set([
  ...['token', 'tokens', 'secret', 'secrets', 'password', 'passwords', 'passwd', 'pwd', 'passphrase', 'passcode'],
  ...['auth', 'authorization', 'authentication', 'oauth', 'cookie', 'cookies', 'credential', 'credentials', 'creds'],
  ...['jwt', 'bearer', 'signature', 'sig', 'dsn', 'apikey', 'apikeys', 'xapikey', 'accesskey', 'secretkey'],
  ...['privatekey', 'signingkey', 'databaseurl', 'connectionstring', 'accesstoken', 'refreshtoken', 'authtoken'],
  ...['idtoken', 'sessionid', 'sessiontoken', 'clientsecret', 'pgpassword', 'sas', 'pass', 'pw', 'pin', 'pat', 'sid'],
  ...['csrf', 'xsrf', 'hmac', 'otp', 'totp', 'mfa', 'webhook', 'verifier', 'assertion', 'saml', 'pem'],
  ...['jsessionid', 'phpsessid', 'sessid'],
]);
/** Words whose numbers are counts, not what opens something. */
const COUNTED = new Set(['token', 'tokens', 'key', 'keys', 'cookies', 'secrets', 'credentials']);
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

/** Whether a number under this name may open something: a PIN, and not how many tokens there are. */
export const isSecretNumberName = (name: string): boolean =>
  isSecretName(name) &&
  !name.split(/[^A-Za-z\d]+|(?<=[a-z\d])(?=[A-Z])/).some((word) => COUNTED.has(word.toLowerCase()));

/** Whether a text under a name that says little, such as `key`, is none that a person chose. */
export const isRandomKey = (name: string, value: unknown): boolean =>
  /^keys?$/i.test(name) && typeof value === 'string' && RANDOM.test(value);
const RANDOM = /^(?=[^\d]{0,200}\d)(?=[^A-Za-z]{0,200}[A-Za-z])[\w+/=.~-]{16,}$/;

const NAMED = /(\\{0,7}["'])?([\w.-]{2,100})\1?\s{0,3}(=>|:=|[=:,]|%3D|%3A)(\s{0,3})/gi;
const VALUE = /"[^"]{1,4000}"|'[^']{1,4000}'|\\{1,7}["'][^"'\\]{1,4000}|(?!-----BEGIN)[^\s"'&,;(){}[\]<>\\]{1,4000}/y;
/** A word that a sentence has behind a colon. */
const PROSE = /^[a-z]{1,15}\.?$/;
/** A count. */
const SHOWN = /^\d{1,9}$/;
/** A header, a field or an option that holds a scheme and what it takes. */
const AUTHENTICATES = /auth|^x-|-(?:key|token)$/i;
/** Words that name a scheme of authentication. In `Authorization`, any other word is one too. */
const SCHEME =
  /^(?:bearer|basic|digest|negotiate|ntlm|hawk|hoba|mutual|oauth|h?mac|signature|dpop|vapid|jwt|token|key|bot|api-?key|aws4-[a-z\d-]{1,40}|shared-?key(?:lite)?|sharedaccesssignature|geniekey|sso-key|ssws|splunk)$/i;
/** What stands behind a scheme: its parameters, or one word. */
const PARAMETER = String.raw`[\w-]{1,60}[ \t]?=[ \t]?(?:"[^"]{0,4000}"|\\{1,7}"[^"\\]{0,4000}\\{1,7}"|[^\s,"'\\]{1,4000})`;
const CREDENTIALS = new RegExp(
  String.raw`(?:\r?\n)?([ \t]{1,8})((?:${PARAMETER}(?:[ \t]{0,3},[ \t]{0,3}${PARAMETER}){0,30})?[^\s"'\x60<>\\]{0,4000})`,
  'y',
);
/** A name in a list of names, and no value. */
const ONLY_A_NAME = /^[A-Za-z_-]{2,100}$/;

/** Behind the name of a secret, without a sign: of digits and letters, as no word is. */
const KEY_BEHIND = String.raw`(?=[^\s\d]{0,100}\d)(?=[^\sA-Za-z]{0,100}[A-Za-z])[\w+/=.~-]{12,4000}`;

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/(\b[a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/?#"'<>]{1,2000}@/gi, `$1${HIDDEN}@`],
  // A password in which a slash was not encoded. What has digits there has a port.
  [
    /(\b[a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/?#"'<>:@[\]]{0,200}:(?!\d{1,5}[/?#])[^\s"'<>@]{1,400}@(?=[\w.[-])/gi,
    `$1${HIDDEN}@`,
  ],
  // An address that leaves its scheme to the page it is on.
  [/((?:^|[\s"'=(,\x60])\/\/)[^\s/?#"'<>]{1,2000}@(?=[\w.[-])/g, `$1${HIDDEN}@`],
  // A user and a password in front of a host, where no scheme says that it is an address.
  [/((?:^|[\s"'=(/])[\w.+-]{1,100}:)(?=[^\s:@/\d]{0,100}\d)[^\s:@/]{6,200}(?=@[\w.[-])/g, `$1${HIDDEN}`],
  [/(\b(?:set-)?cookie["']?\s{0,3}[:=]\s{0,3})[^\r\n]{1,4000}/gi, `$1${HIDDEN}`],
  [/\b(bearer|basic|digest|negotiate)\s{1,3}(?=[^\s]{0,200}[\d+/=_.~-])[\w.~+/=*-]{4,4000}/gi, `$1 ${HIDDEN}`],
  [/\b(bearer|basic)\s{1,3}[\w~+/=*-]{8,4000}/gi, `$1 ${HIDDEN}`],
  // Other schemes are words of a sentence too, unless digits and letters stand behind them.
  [
    /\b(ntlm|hawk|dpop|api-?key|aws4-[a-z\d-]{1,40}|shared-?key(?:lite)?|geniekey|sso-key|ssws)\s{1,3}(?=[^\s\d]{0,100}\d)(?=[^\sA-Za-z]{0,100}[A-Za-z])[\w.~+/=*:-]{4,4000}/gi,
    `$1 ${HIDDEN}`,
  ],
  [/-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\w+/=\s\\-]{0,20000}/g, HIDDEN],
  [/([?&](?:code|key|sig|assertion)=)[^\s&#"'<>]{1,4000}/gi, `$1${HIDDEN}`],
  [/(\s(?:-u|--user|--proxy-user)[ =])[^\s:]{1,200}:\S{1,400}/g, `$1${HIDDEN}`],
  [
    new RegExp(
      String.raw`\b((?:token|key|secret|password|passphrase|credential)s?(?:\s(?:is|was|provided|given))?:?\s{1,3}["'\x60]?)${KEY_BEHIND}`,
      'gi',
    ),
    `$1${HIDDEN}`,
  ],
  [
    /\b(hooks\.slack\.com\/(?:services|workflows)\/|discord(?:app)?\.com\/api\/webhooks\/)[\w/-]{1,400}/gi,
    `$1${HIDDEN}`,
  ],
  [/\/bot\d{3,20}:[\w-]{8,200}/g, `/bot${HIDDEN}`],
  [/\bsk-[\w*.-]{4,400}/g, HIDDEN],
  // The prefixes of what services give out.
  [
    /\b(?:gh[a-z]_|github_pat_|glpat-|gl[a-z]{2,6}-|xox[a-z]-|xapp-|hf_|npm_|pypi-|[srp]k_(?:live|test)_|whsec_|shpat_|dop_v1_|ya29\.|AIza|SG\.)[\w.-]{8,400}/g,
    HIDDEN,
  ],
  [/\beyJ[\w-]{5,2000}\.[\w-]{2,4000}\.[\w-]{2,2000}/g, HIDDEN],
  // The form of Ollama's own keys: 32 hexadecimal digits, a dot, a random part.
  [/\b[0-9a-f]{32}\.[\w-]{8,400}/gi, HIDDEN],
];

const OPTION = /(--?([A-Za-z][\w-]{1,60})\s{1,3})(?!-)(?:"[^"]{1,4000}"|'[^']{1,4000}'|[^\s"']{1,4000})/g;
/** Arguments that were joined have no quotes, and a scheme stands in front of what is secret. */
const AUTH_OPTION =
  /(--?([A-Za-z][\w-]{0,30}auth[\w-]{0,30}|auth[\w-]{0,30})\s{1,3})(?!-)[^\s"']{1,4000}\s{1,3}(?!-)[^\s"']{1,4000}/gi;
const ELEMENT = /(<([A-Za-z][\w.-]{1,60})>)[^<>]{1,4000}(?=<\/)/g;

/**
 * A value that should have been an address, fit for an error: nothing of it is left in front of its last `@`, where a user and a
 * password are, however it is written.
 */
export const shownAddress = (value: string): string => {
  const at = value.lastIndexOf('@');
  if (at === -1) return withoutSecretPatterns(value);
  const scheme = /^[a-z][a-z\d+.-]{0,30}:(?:\/\/)?/i.exec(value)?.[0] ?? '';
  return withoutSecretPatterns(`${scheme}${HIDDEN}${value.slice(at)}`);
};

/**
 * The text without what looks like a secret: user and password of an address, and what stands behind the name of a secret. Names come
 * first: the other rules would hide the beginning of a value, and leave the rest.
 */
export const withoutSecretPatterns = (text: string): string =>
  PATTERNS.reduce(
    (rest, [look, instead]) => rest.replace(look, instead),
    withoutNamed(text.replace(AUTH_OPTION, hiddenBehind)),
  )
    .replace(OPTION, hiddenBehind)
    .replace(ELEMENT, hiddenBehind);

/** An argument behind the option of a command, and the content of an element, where the name is that of a secret. */
const hiddenBehind = (whole: string, before: string, name: string): string =>
  isSecretName(name) ? `${before}${HIDDEN}` : whole;

/** Whether the second of two texts in a list is the value of the first, as in a list of headers or of arguments. */
export const isValueOf = (name: unknown, value: unknown): boolean =>
  typeof name === 'string' &&
  typeof value === 'string' &&
  /^-{0,2}[A-Za-z][\w.-]{1,100}$/.test(name) &&
  isSecretName(name) &&
  !(ONLY_A_NAME.test(value) && isSecretName(value));

interface Named {
  readonly name: string;
  /** The quotation mark in front of the name, if there is one. */
  readonly quote: string;
  readonly sign: string;
  readonly space: string;
}

/** What is behind a name: how much of it goes, and what is written instead. Null where no secret is. */
function hiddenValue(text: string, start: number, named: Named): { readonly length: number; instead: string } | null {
  const { name, quote, sign, space } = named;
  VALUE.lastIndex = start;
  const value = VALUE.exec(text)?.[0] ?? '';
  if (value === '' || SHOWN.test(value)) return null;
  const opening = /^\\{0,7}["']/.exec(value)?.[0] ?? '';
  if (sign === ',' && (quote === '' || opening === '' || !isValueOf(name, value.replaceAll(/["'\\]/g, ''))))
    return null;
  // Of a text in escaped quotes, the closing one is still ahead.
  const closing = opening.startsWith('\\') ? '' : opening;
  if (opening !== '') return { length: value.length, instead: `${opening}${HIDDEN}${closing}` };
  const isScheme = SCHEME.test(value);
  const [behind = '', gap = '', credentials = ''] = credentialsAt(text, start + value.length);
  // "The token: expected a text" says what is wrong, and names no token.
  const isProse = quote === '' && sign === ':' && space !== '' && PROSE.test(value);
  if (isScheme) {
    if (credentials === '') return null;
    return { length: value.length + behind.length, instead: `${value}${gap}${HIDDEN}` };
  }
  if (!AUTHENTICATES.test(name) || credentials === '')
    return isProse ? null : { length: value.length, instead: HIDDEN };
  if (isProse && PROSE.test(credentials)) return null;
  return { length: value.length + behind.length, instead: HIDDEN };
}

function credentialsAt(text: string, start: number): readonly (string | undefined)[] {
  CREDENTIALS.lastIndex = start;
  const found = CREDENTIALS.exec(text);
  return found ?? [];
}

function withoutNamed(text: string): string {
  let clean = '';
  let from = 0;
  NAMED.lastIndex = 0;
  for (let found = NAMED.exec(text); found !== null; found = NAMED.exec(text)) {
    const [, quote = '', name = '', sign = '', space = ''] = found;
    if (!isSecretName(name)) continue;
    const start = NAMED.lastIndex;
    const hidden = hiddenValue(text, start, { name, quote, sign, space });
    if (hidden === null) continue;
    clean += `${text.slice(from, start)}${hidden.instead}`;
    from = start + hidden.length;
    NAMED.lastIndex = from;
  }
  return from === 0 ? text : clean + text.slice(from);
}
