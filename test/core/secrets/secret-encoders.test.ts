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

it.each(Object.entries(ENCODERS))('a secret is found in %s', (_name, encode) => {
  for (const secret of SECRETS) {
    const text = `before ${encode(secret)} after`;
    expect(new SecretMatcher([secret]).replace(text, () => '[redacted]')).toContain('[redacted]');
  }
});
