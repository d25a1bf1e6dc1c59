/** What a secret looks like in texts. Upper and lower case are told apart nowhere: src/core/secrets/secret-matcher.ts reads both as one. */

/** Shorter values are ordinary words, such as the placeholder keys of local servers; to hide them would garble every text. */
export const SECRET_LENGTH_MIN = 8;

/**
 * A secret as it is, in an URL, in JSON, in JSON inside of JSON, in HTML, in hexadecimal digits, and inside of something in base64. Of a value of
 * several parts, such as the lines of a key, each long part counts alone as well. Line breaks are in none of the forms: texts
 * are compared without them, since programs wrap what is long.
 */
export function secretForms(value: string): readonly string[] {
  const parts = value.split(/\s+/).filter((part) => part.length >= 2 * SECRET_LENGTH_MIN && part !== value);
  const forms = [value, ...parts].flatMap(formsOf).map((form) => inLowerCase(form.replaceAll(/[\r\n]+[ \t]*/g, '')));
  return [...new Set(forms.filter(({ length }) => length >= SECRET_LENGTH_MIN))];
}

function formsOf(value: string): readonly string[] {
  const text = value.toWellFormed();
  const bytes = Buffer.from(text, 'utf8');
  const json = JSON.stringify(text).slice(1, -1);
  const hex = bytes.toString('hex');
  const forms = [
    ...[text, encodeURIComponent(text), encodeURI(text), encodeURIComponent(text).replaceAll('%20', '+')],
    ...[json, json.replaceAll('/', '\\/'), JSON.stringify(json).slice(1, -1), json.replaceAll(/[<>&']/g, asUnicode)],
    ...[hex, hex.replaceAll(/../g, '%$&'), hex.replaceAll(/../g, '\\x$&'), bytes.toString('latin1')],
    ...[hex.replaceAll(/..(?=.)/g, '$&:'), hex.replaceAll(/..(?=.)/g, '$& '), hex.replaceAll(/.{4}(?=.)/g, '$& ')],
    ...[text.replaceAll(/./gs, asUnicode), inHtml(text)],
    encodeURIComponent(encodeURIComponent(text)),
  ];
  // Three bytes are four characters: where the secret begins in them decides what it looks like.
  for (const before of [0, 1, 2]) {
    const whole = Buffer.concat([Buffer.alloc(before), bytes]);
    const base64 = whole.toString('base64').slice(Math.ceil((before * 8) / 6), Math.floor((whole.length * 8) / 6));
    forms.push(base64, encodeURIComponent(base64), base64.replaceAll('+', '-').replaceAll('/', '_'));
    forms.push(base64.replaceAll('/', '\\/'));
  }
  return forms;
}

/** Letters of ASCII alone: what becomes of others can have another length. */
const inLowerCase = (text: string): string => text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());

const HTML: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const inHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (char) => HTML[char] ?? char);

const asUnicode = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
