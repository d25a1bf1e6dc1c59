/** What a secret looks like in texts. Upper and lower case are told apart nowhere: src/core/secrets/secret-matcher.ts reads both as one. */

/** Shorter values are ordinary words, such as the placeholder keys of local servers; to hide them would garble every text. */
export const SECRET_LENGTH_MIN = 8;

/**
 * A secret as it is, in an URL, in JSON, in JSON inside of JSON, in HTML, in quotes, in hexadecimal digits, and inside of something in
 * base64. Of a value of several parts, such as the lines of a key, each long part counts alone as well. Line breaks are in none of the
 * forms: texts are compared without them, since programs wrap what is long.
 */
export function secretForms(value: string): readonly string[] {
  const parts = value.split(/\s+/).filter((part) => part.length >= 2 * SECRET_LENGTH_MIN && part !== value);
  // The matcher reads letters of ASCII alone in both cases.
  const cases = ALL_ASCII.test(value) ? [value] : [value, value.toUpperCase(), value.toLowerCase()];
  const forms = [...cases, ...parts].flatMap(formsOf).map((form) => inLowerCase(form.replaceAll(/[\r\n]+[ \t]*/g, '')));
  return [...new Set(forms.filter(({ length }) => length >= SECRET_LENGTH_MIN))];
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: every character of ASCII is meant.
const ALL_ASCII = /^[\x00-\x7f]*$/;

function formsOf(value: string): readonly string[] {
  const text = value.toWellFormed();
  const bytes = Buffer.from(text, 'utf8');
  const wide = Buffer.from(text, 'utf16le');
  const escaped = jsonForms(text);
  return [
    ...[text, ...urlForms(text), ...escaped, ...escaped.map(inJson), ...htmlForms(text), ...quotedForms(text)],
    ...[...hexForms(bytes), bytes.toString('latin1'), wide.toString('hex')],
    ...[bytes, wide, ...[strictly(text), inJson(text)].map((form) => Buffer.from(form))].flatMap(base64Forms),
  ];
}

const percents = (char: string): string => Buffer.from(char).toString('hex').replaceAll(/../g, '%$&');

/** What each encoder leaves as it is, beside letters and digits. */
const URL_ENCODERS: readonly RegExp[] = [
  // RFC 3986, as Go, PHP and Python have it, with and without slashes.
  /[^A-Za-z\d._~-]/gu,
  /[^A-Za-z\d._~/-]/gu,
  // Forms: URLSearchParams and Java, and PHP.
  /[^A-Za-z\d*._-]/gu,
  /[^A-Za-z\d._-]/gu,
  // The fragment, the query, the path and the user of an URL: https://url.spec.whatwg.org/#percent-encoded-bytes.
  /[\p{Cc} "<>`]|[^\0-~]/gu,
  /[\p{Cc} "#<>]|[^\0-~]/gu,
  /[\p{Cc} "#<>']|[^\0-~]/gu,
  /[\p{Cc} "#<>?^`{}]|[^\0-~]/gu,
  /[\p{Cc} "#<>?^`{}/:;=@[\\\]|]|[^\0-~]/gu,
];

const strictly = (text: string): string => text.replaceAll(/[^A-Za-z\d._~-]/gu, percents);

function urlForms(text: string): readonly string[] {
  const forms = [
    ...[encodeURIComponent(text), encodeURI(text)],
    ...URL_ENCODERS.map((encoded) => text.replaceAll(encoded, percents)),
  ];
  return [
    ...forms.flatMap((form) => [form, form.replaceAll('%20', '+')]),
    ...[encodeURIComponent(encodeURIComponent(text)), strictly(inJson(text)), encodeURIComponent(inJson(text))],
  ];
}

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);

/** JavaScript, PHP, Go, Python, .NET, and JSON in a page, which differ in what they escape. */
function jsonForms(text: string): readonly string[] {
  const json = inJson(text);
  const ascii = json.replaceAll(/[^\0-~]/g, asUnicode);
  const slashes = [json, ascii].map((form) => form.replaceAll('/', '\\/'));
  return [
    ...[json, ascii, ...slashes, json.replaceAll(/[<>&]/g, asUnicode), json.replaceAll(/[<>&']/g, asUnicode)],
    ...[text.replaceAll('\\', '\\\\').replaceAll(/["&'+<>`]|[^\0-~]/g, asUnicode), inJson(inJson(json))],
    text.replaceAll(/./gs, asUnicode),
  ];
}

const HTML: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Templates of JavaScript, Go and Python, which differ in quotes, and a page that names every character by its number. */
function htmlForms(text: string): readonly string[] {
  const named = (escaped: RegExp, special: Readonly<Record<string, string>> = {}): string =>
    text.replaceAll(escaped, (char) => special[char] ?? HTML[char] ?? char);
  const hex = { "'": '&#x27;', '`': '&#x60;', '=': '&#x3d;', '/': '&#x2f;' };
  return [
    ...[named(/[&<>]/g), named(/[&<>"]/g), named(/[&<>"']/g), named(/[&<>"']/g, { '"': '&#34;' })],
    ...[named(/[&<>"']/g, { "'": '&#x27;' }), named(/[&<>"'`=]/g, hex), named(/[&<>"'`=/]/g, hex)],
    named(/[&<>"'`=/]/g, { ...hex, "'": '&#39;' }),
    text.replaceAll(/[\s\S]/gu, (char) => `&#${char.codePointAt(0)};`),
    text.replaceAll(/[\s\S]/gu, (char) => `&#x${(char.codePointAt(0) ?? 0).toString(16)};`),
  ];
}

/** In the quotes of SQL, of a shell and of JavaScript. */
const quotedForms = (text: string): readonly string[] =>
  text.includes("'") ? ["''", "\\'", "'\\''", `'"'"'`].map((quote) => text.replaceAll("'", () => quote)) : [];

function hexForms(bytes: Buffer): readonly string[] {
  const hex = bytes.toString('hex');
  return [
    ...[hex, hex.replaceAll(/../g, '%$&'), hex.replaceAll(/../g, '\\x$&')],
    ...[hex.replaceAll(/..(?=.)/g, '$&:'), hex.replaceAll(/..(?=.)/g, '$& '), hex.replaceAll(/.{4}(?=.)/g, '$& ')],
  ];
}

/** Three bytes are four characters: where the secret begins in them decides what it looks like. */
const base64Forms = (bytes: Buffer): readonly string[] =>
  [0, 1, 2].flatMap((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes]);
    const base64 = whole.toString('base64').slice(Math.ceil((before * 8) / 6), Math.floor((whole.length * 8) / 6));
    return [
      ...[base64, encodeURIComponent(base64), base64.replaceAll('+', '-').replaceAll('/', '_')],
      ...[base64.replaceAll('/', '\\/'), base64.replaceAll('+', '\\u002b')],
    ];
  });

/** Letters of ASCII alone: what becomes of others can have another length. */
const inLowerCase = (text: string): string => text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());

const asUnicode = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
