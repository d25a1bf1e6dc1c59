import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SecretMatcher } from '../../../src/core/secrets/secret-matcher.js';

const SECRET = 'Kx9/+pQ"z&<Wm4~T vR7';
const OTHERS = ['another-secret-1', 'sk-proj-AbCdEfGh0123456789', 'pässwörter-größe'];
const hidden = () => '[redacted]';
const bytes = Buffer.from(SECRET, 'utf8');
const json = JSON.stringify(SECRET).slice(1, -1);

const FORMS: readonly (readonly [string, string])[] = [
  ['plain', SECRET],
  ['in lower case', SECRET.toLowerCase()],
  ['in upper case', SECRET.toUpperCase()],
  ['encoded for a part of an URL', encodeURIComponent(SECRET)],
  ['the same in lower case', encodeURIComponent(SECRET).toLowerCase()],
  ['encoded for an URL', encodeURI(SECRET)],
  ['encoded as a form', encodeURIComponent(SECRET).replaceAll('%20', '+')],
  ['encoded in every byte', bytes.toString('hex').replaceAll(/../g, '%$&')],
  ['in JSON', json],
  ['in JSON with escaped slashes', json.replaceAll('/', '\\/')],
  ['in JSON inside of JSON', JSON.stringify(json).slice(1, -1)],
  ['in JSON for a page', json.replaceAll('<', '\\u003c').replaceAll('&', '\\u0026')],
  ['in hexadecimal digits', bytes.toString('hex')],
  ['in hexadecimal capitals', bytes.toString('hex').toUpperCase()],
  ['in hexadecimal digits with colons', bytes.toString('hex').replaceAll(/..(?=.)/g, '$&:')],
  ['in hexadecimal digits with spaces', bytes.toString('hex').replaceAll(/..(?=.)/g, '$& ')],
  ['as a dump has it', bytes.toString('hex').replaceAll(/.{4}(?=.)/g, '$& ')],
  ['in JSON in every character', [...SECRET].map((char) => `\\u00${char.charCodeAt(0).toString(16)}`).join('')],
  ['encoded for an URL twice', encodeURIComponent(encodeURIComponent(SECRET))],
  ['in a page', SECRET.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')],
  ['over two lines', `${SECRET.slice(0, 9)}\n${SECRET.slice(9)}`],
  ['over two lines, indented', `${SECRET.slice(0, 9)}\r\n    ${SECRET.slice(9)}`],
  ['in base64 over lines', bytes.toString('base64').replaceAll(/.{5}/g, '$&\n')],
  ['in base64 over lines, in JSON', bytes.toString('base64').replaceAll(/.{5}(?=.{5})/g, '$&\\n')],
  ['in base64 over lines of Windows, in JSON', bytes.toString('base64').replaceAll(/.{9}(?=.{9})/g, '$&\\r\\n')],
  ['in base64 over lines, in JSON inside of JSON', bytes.toString('base64').replaceAll(/.{7}(?=.{7})/g, '$&\\\\n  ')],
  ['over lines that a shell joins', `${SECRET.slice(0, 9)}\\\n${SECRET.slice(9)}`],
  ['in hexadecimal digits over lines', bytes.toString('hex').replaceAll(/.{7}/g, '$&\n  ')],
  ['in base64', bytes.toString('base64')],
  ['in base64 for URLs', bytes.toString('base64url')],
  ['in base64 behind one byte', Buffer.concat([Buffer.from('a'), bytes]).toString('base64')],
  ['in base64 behind two bytes', Buffer.concat([Buffer.from('ab'), bytes]).toString('base64')],
];

describe('a secret in a text', () => {
  const matcher = new SecretMatcher([SECRET, ...OTHERS]);

  it.each(FORMS)('is found %s', (_title, form) => {
    const clean = matcher.replace(`before ${form} after`, hidden);
    expect(clean).toMatch(/^before .{0,4}\[redacted\].{0,4} after$/);
  });

  it.each(FORMS)('is found %s in whatever pieces the text comes', (_title, form) => {
    const text = `before ${form} and ${form}, after`;
    const whole = matcher.replace(text, hidden);
    for (let size = 1; size < text.length; size++) {
      const scan = matcher.stream(hidden);
      let clean = '';
      for (let at = 0; at < text.length; at += size) clean += scan.push(text.slice(at, at + size));
      expect(clean + scan.end()).toBe(whole);
    }
  });

  it('is found by its parts where it has lines', () => {
    const lines = ['-----BEGIN KEY-----', 'MIIEvQIBADANBgkqhkiG9w0B', 'AQEFAASCBKcwggSjAgEAAoIB', '-----END KEY-----'];
    const matcher = new SecretMatcher([lines.join('\n')]);
    expect(matcher.replace(`it says ${lines[2]}`, hidden)).toBe('it says [redacted]');
  });

  it('that is not there leaves the text as it is, also where it nearly is', () => {
    const text = `${SECRET.slice(0, 15)} sk-proj-AbCdEfGh012345678 ${SECRET.slice(1)}`;
    expect(matcher.replace(text, hidden)).toBe(text);
  });
});

it('texts come back as one that looks for each form at each place finds them', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'A', '0'), minLength: 8, maxLength: 12 });
  fc.assert(
    fc.property(
      fc.array(letters, { minLength: 1, maxLength: 6 }),
      fc.array(fc.oneof(letters, fc.constantFrom('a', 'ab', ' ', '0', '\n', '\n ')), { maxLength: 20 }),
      fc.nat({ max: 20 }),
      (secrets, parts, cut) => {
        const text = parts.join('');
        const matcher = new SecretMatcher(secrets);
        const stars = [...text].map(() => false);
        // Line breaks and what indents the next line are looked over.
        const breaks = [...text.matchAll(/\n+[ \n]*/g)].map(
          ({ index, 0: blank }) => [index, index + blank.length] as const,
        );
        const places = [...text].map((_, at) => at).filter((at) => !breaks.some(([from, to]) => from <= at && at < to));
        const joined = places.map((at) => text[at]).join('');
        for (const secret of secrets)
          for (let at = 0; at + secret.length <= joined.length; at++)
            if (joined.slice(at, at + secret.length).toLowerCase() === secret.toLowerCase())
              stars.fill(true, places[at], (places[at + secret.length - 1] ?? 0) + 1);
        const expected = [...text].map((char, at) => (stars[at] ? '*' : char)).join('');
        expect(matcher.replace(text, (length) => '*'.repeat(length))).toBe(expected);
        const scan = matcher.stream((length) => '*'.repeat(length));
        expect(scan.push(text.slice(0, cut)) + scan.push(text.slice(cut)) + scan.end()).toBe(expected);
      },
    ),
  );
});

it('takes at most two steps for each character, whatever the text and the secrets are', () => {
  let steps = 0;
  class Counted extends SecretMatcher {
    override step(from: number, code: number): number {
      steps++;
      return super.step(from, code);
    }
    override backFrom(state: number): number {
      steps++;
      return super.backFrom(state);
    }
  }
  const secrets = Array.from({ length: 300 }, (_, n) => `${'a'.repeat(64 + n)}b`);
  const matcher = new Counted(secrets);
  for (const text of ['a'.repeat(50_000), `${'a'.repeat(63)}c`.repeat(800), 'ab'.repeat(25_000)]) {
    steps = 0;
    expect(matcher.replace(text, hidden)).toBe(text);
    expect(steps).toBeLessThanOrEqual(2 * text.length);
  }
});
