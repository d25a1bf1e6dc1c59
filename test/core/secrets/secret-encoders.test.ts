import { expect, it } from 'vitest';
import { SecretMatcher } from '../../../src/core/secrets/secret-matcher.js';

/** Passwords that people choose, which programs encode differently. */
const SECRETS = [
  `p@ss,w+d$1!x*(9)~q'z`,
  'pässwörd-ünïx-1234',
  'a/b+c=d&e;f:g?h#i[j]',
  'ab"c<d>e`f|g^h{i}\\j',
  'two words 12345678',
  '日本語のパスワード',
  'plain0123456789abcdefgh',
  'AKIA/+secret==key/with+signs',
  `it's a\\b "c" \`d\` $e`,
];
const percent = (text: string, kept: RegExp): string =>
  text.replaceAll(/[\s\S]/gu, (char) =>
    kept.test(char) ? char : Buffer.from(char).toString('hex').toUpperCase().replaceAll(/../g, '%$&'),
  );
const unicode = (text: string, escaped: RegExp): string =>
  text.replaceAll(escaped, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
const json = (text: string): string => JSON.stringify(text).slice(1, -1);
const html = (text: string, names: Readonly<Record<string, string>>): string =>
  text.replaceAll(/[\s\S]/g, (char) => names[char] ?? char);
const url = (change: (made: URL) => void): string => {
  const made = new URL('https://host/');
  change(made);
  return made.href;
};

const NAMED = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

const ENCODERS: Readonly<Record<string, (text: string) => string>> = {
  'a form, by URLSearchParams': (text) => new URLSearchParams({ a: text }).toString(),
  'a user of an URL': (text) => url((made) => Object.assign(made, { username: 'u', password: text })),
  'a query of an URL': (text) => url((made) => Object.assign(made, { search: `?${text}` })),
  'a fragment of an URL': (text) => url((made) => Object.assign(made, { hash: `#${text}` })),
  'RFC 3986, as Go and PHP have it': (text) => percent(text, /[\w.~-]/),
  'RFC 3986 with slashes, as Python has it': (text) => percent(text, /[\w.~/-]/),
  'a form, by Python': (text) => percent(text, /[\w.~-]/).replaceAll('%20', '+'),
  'JSON by Python': (text) => unicode(json(text), /[^\0-~]/g),
  'JSON in JSON by Python': (text) => json(unicode(json(text), /[^\0-~]/g)),
  'JSON three times': (text) => json(json(json(text))),
  'JSON by .NET': (text) => unicode(text.replaceAll('\\', '\\\\'), /["&'+<>`]|[^\0-~]/g),
  'JSON by PHP': (text) => unicode(json(text).replaceAll('/', '\\/'), /[^\0-~]/g),
  'JSON by Go': (text) => unicode(json(text), /[<>&]/g),
  'JSON in a form': (text) => new URLSearchParams({ a: JSON.stringify({ text }) }).toString(),
  'JSON in an URL': (text) => encodeURIComponent(JSON.stringify(text)),
  'a page by Go': (text) => html(text, { ...NAMED, '"': '&#34;' }),
  'a page by Python': (text) => html(text, { ...NAMED, "'": '&#x27;' }),
  'a page by Handlebars': (text) => html(text, { ...NAMED, "'": '&#x27;', '`': '&#x60;', '=': '&#x3D;' }),
  'a page by Mustache': (text) => html(text, { ...NAMED, '`': '&#x60;', '=': '&#x3D;', '/': '&#x2F;' }),
  'a page of numbers': (text) => [...text].map((char) => `&#${char.codePointAt(0)};`).join(''),
  'base64 of what PowerShell takes': (text) => Buffer.from(`x ${text} y`, 'utf16le').toString('base64'),
  'base64 of JSON': (text) => Buffer.from(JSON.stringify({ text })).toString('base64'),
  'base64 in JSON by .NET': (text) => unicode(Buffer.from(text).toString('base64'), /\+/g),
  'upper case': (text) => text.toUpperCase(),
  'the quotes of a shell': (text) => `'${text.replaceAll("'", () => "'\\''")}'`,
  'the quotes of SQL': (text) => `'${text.replaceAll("'", "''")}'`,
};

const URLS: typeof ENCODERS = {
  JavaScript: encodeURIComponent,
  'encodeURI of JavaScript': encodeURI,
  Python: (text) => percent(text, /[\w.~/-]/),
  Go: (text) => percent(text, /[\w.~-]/),
  'a form of Go': (text) => percent(text, /[\w.~-]/).replaceAll('%20', '+'),
  'a form of PHP': (text) => percent(text, /[\w.-]/).replaceAll('%20', '+'),
  'a form of Java': (text) => percent(text, /[\w.*-]/).replaceAll('%20', '+'),
};
const large = (text: string): string => text.replaceAll(/\\u[\da-f]{4}/g, (one) => `\\u${one.slice(2).toUpperCase()}`);
const JSONS: typeof ENCODERS = {
  JavaScript: json,
  Python: (text) => unicode(json(text), /[^\0-~]/g),
  '.NET': (text) => large(unicode(text.replaceAll('\\', '\\\\'), /["&'+<>`]|[^\0-~]/g)),
  PHP: (text) => unicode(json(text).replaceAll('/', '\\/'), /[^\0-~]/g),
  Go: (text) => unicode(json(text), /[<>&]/g),
};
const QUOTES: typeof ENCODERS = {
  'a shell, doubled': (text) => `"${text.replaceAll(/[\\"$`]/g, '\\$&')}"`,
  "a shell's $''": (text) => `$'${text.replaceAll(/[\\']/g, '\\$&')}'`,
  'a shell without any': (text) => text.replaceAll(/[^A-Za-z\d_./:=@%+,\u0080-\uffff-]/g, '\\$&'),
  'JavaScript, single': (text) => `'${text.replaceAll(/[\\']/g, '\\$&')}'`,
  'JavaScript, back': (text) => `\`${text.replaceAll(/[\\`]|\$(?=\{)/g, '\\$&')}\``,
  'SQL, by MySQL': (text) => `'${text.replaceAll(/[\\'"]/g, '\\$&')}'`,
};
const at = (offset: number, bytes: Buffer): string =>
  Buffer.concat([Buffer.from('xyz'.slice(0, offset)), bytes, Buffer.from('tail')]).toString('base64');

/** What the page on secrets names: each writer, twice and three times by itself and by others, and in base64 at each offset. */
function* nested(text: string): Generator<string> {
  const offsets = [0, 1, 2];
  for (const url of Object.values(URLS)) {
    yield* [url(text), url(url(text)), ...offsets.map((offset) => at(offset, Buffer.from(url(text))))];
    for (const one of Object.values(JSONS)) yield url(one(text));
  }
  for (const one of Object.values(JSONS)) {
    yield* [one(one(one(text))), ...offsets.map((offset) => at(offset, Buffer.from(one(text))))];
    for (const other of Object.values(JSONS)) yield* [other(one(text)), json(other(one(text)))];
  }
  for (const quoted of Object.values(QUOTES))
    yield* [quoted(text), ...Object.values(JSONS).map((one) => one(quoted(text)))];
  for (const offset of offsets) yield at(offset, Buffer.from(text, 'utf16le').swap16());
}

it.each(SECRETS)('%s is found in everything that writers make of what others wrote', (secret) => {
  const matcher = new SecretMatcher([secret]);
  const missed = [...nested(secret)].filter((text) => !matcher.replace(`a ${text} b`, () => '#').includes('#'));
  expect(missed).toEqual([]);
});

it.each(Object.entries(ENCODERS))('a secret is found in %s', (_name, encode) => {
  for (const secret of SECRETS) {
    const text = `before ${encode(secret)} after`;
    expect(new SecretMatcher([secret]).replace(text, () => '[redacted]')).toContain('[redacted]');
  }
});
