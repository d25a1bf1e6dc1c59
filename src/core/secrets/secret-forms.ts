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

type Writer = (text: string) => string;

/** What each writer makes of each text. */
const byEach = (writers: readonly Writer[], texts: Iterable<string>): Set<string> =>
  new Set([...texts].flatMap((text) => writers.map((write) => write(text))));

function formsOf(value: string): readonly string[] {
  const text = value.toWellFormed();
  const bytes = Buffer.from(text, 'utf8');
  const wide = Buffer.from(text, 'utf16le');
  const [urls, json] = [byEach(URL_WRITERS, [text]), byEach(JSON_WRITERS, [text])];
  const encoded = [...new Set([...urls, ...json])].map((form) => Buffer.from(form));
  return [
    ...[text, ...urls, ...json, ...htmlForms(text), ...quotedForms(text)],
    ...byEach(URL_WRITERS, json),
    ...URL_WRITERS.map((write) => write(write(text))),
    ...[...byEach(JSON_WRITERS, json)].flatMap((form) => [form, inJson(form)]),
    ...JSON_WRITERS.map((write) => write(write(write(text)))),
    text.replaceAll(/./gs, asUnicode),
    ...[...hexForms(bytes), bytes.toString('latin1'), wide.toString('hex')],
    ...[bytes, wide, Buffer.from(wide).swap16(), ...encoded].flatMap(base64Forms),
  ];
}

const percents = (char: string): string => Buffer.from(char).toString('hex').toUpperCase().replaceAll(/../g, '%$&');

/** What each encoder leaves as it is, beside letters and digits. */
const URL_ENCODERS: readonly RegExp[] = [
  // encodeURIComponent and encodeURI.
  /[^A-Za-z\d._~!*'()-]/gu,
  /[^A-Za-z\d._~!*'();/?:@&=+$,#-]/gu,
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

/** Each as in an URL, and as in a form. */
const URL_WRITERS: readonly Writer[] = URL_ENCODERS.flatMap((escaped) => {
  const inUrl: Writer = (text) => text.replaceAll(escaped, percents);
  return [inUrl, (text) => inUrl(text).replaceAll('%20', '+')];
});

const inJson: Writer = (text) => JSON.stringify(text).slice(1, -1);
const inAscii: Writer = (text) => text.replaceAll(/[^\0-~]/g, asUnicode);

/** JavaScript, Python, PHP, Go, JSON in a page, and .NET, which differ in what they escape. The case of digits counts in base64. */
const JSON_WRITERS: readonly Writer[] = [
  inJson,
  (text) => inAscii(inJson(text)),
  (text) => inJson(text).replaceAll('/', '\\/'),
  (text) => inAscii(inJson(text)).replaceAll('/', '\\/'),
  (text) => inJson(text).replaceAll(/[<>&]/g, asUnicode),
  (text) => inJson(text).replaceAll(/[<>&']/g, asUnicode),
  (text) =>
    text
      .replaceAll('\\', '\\\\')
      .replaceAll(/["&'+<>`]|[^\0-~]/g, (char) => asUnicode(char).toUpperCase().replace('U', 'u')),
];

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

/** What is escaped in the quotes of SQL, of a shell and of JavaScript, and by a shell without quotes. */
const QUOTES: readonly RegExp[] = [
  ...[/'/g, /[\\']/g, /[\\'"]/g, /[\\`]|\$(?=\{)/g],
  ...[/[\\"$`]/g, /[\\"$`!]/g, /[^A-Za-z\d_./:=@%+,\u0080-\uffff-]/g],
];

function quotedForms(text: string): readonly string[] {
  const quoted = [
    ...["''", "'\\''", `'"'"'`].map((quote) => text.replaceAll("'", () => quote)),
    ...QUOTES.map((escaped) => text.replaceAll(escaped, '\\$&')),
  ];
  return [...quoted, ...byEach(JSON_WRITERS, quoted)];
}

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
