import { describe, expect, test } from 'vitest';
import { ExactNumber, exactText, parseExact } from '../../src/console/text/exact.js';
import { hiddenIn, isMixed, visiblePieces } from '../../src/console/text/visible.js';
import { durationText, relativeText, shortId, usdText } from '../../src/console/text/words.js';

const named = (text: string, kind: 'exact' | 'prose' = 'exact'): string =>
  visiblePieces(text, kind)
    .map((part) => (part.type === 'text' ? part.text : `[${part.name}]`))
    .join('');

describe('texts from outside', () => {
  test('a hidden character is shown by its name, wherever it stands', () => {
    expect(named('rm \u202egnp.exe')).toBe('rm [U+202E]gnp.exe');
    const hidden = [
      ...['\u00ad', '\u034f', '\u061c', '\u115f', '\u180e', '\u200b', '\u200d', '\u2066', '\u2800', '\u3164'],
      ...[
        '\ufe0f',
        '\uffa0',
        '\u0000',
        '\u001b',
        '\r',
        '\u2028',
        '\ud800',
        '\ue000',
        '\u{e0041}',
        '\u{1d173}',
        '\u{1d159}',
        '\u{13441}',
        '\u00a0',
      ],
    ];
    for (const character of hidden) expect(hiddenIn(`a${character}b`), named(character)).toBe(1);
    expect(hiddenIn('a b\tc\nd é 漢 🙂')).toBe(0);
  });

  test('pieces joined are the text', () => {
    const text = `pay\u200bpal\n${'e'.padEnd(300, '\u0301')} \u{1f469}\u200d\u{1f467} \u0000`;
    for (const kind of ['exact', 'prose'] as const)
      expect(
        visiblePieces(text, kind)
          .map(({ text: part }) => part)
          .join(''),
      ).toBe(text);
  });

  test('prose keeps joined pictures and marks of direction beside letters that run to the left', () => {
    expect(named('\u{1f469}\u200d\u{1f467}', 'prose')).not.toContain('[');
    expect(named('שלום\u200f!', 'prose')).not.toContain('[');
    expect(named('pay\u200dpal', 'prose')).toBe('pay[U+200D]pal');
    expect(named('a\u202eb', 'prose')).toBe('a[U+202E]b');
  });

  test('marks that pile up on one letter are shown from the fifth on', () => {
    expect(hiddenIn(`e${'\u0301'.repeat(10)}`)).toBe(6);
  });

  test('what pushes the rest out of sight is folded with its length', () => {
    expect(named(`a${' '.repeat(500)}b`)).toBe('a[500 blanks]b');
    expect(named(`a${'\n'.repeat(40)}b`)).toBe('a[40 line feeds]b');
    expect(named(`a${'\t'.repeat(60)}b`)).toBe('a[60 tabs]b');
    expect(named(`a${'\n \t'.repeat(30)}\nb`)).toBe('a[31 line feeds]b');
    expect(hiddenIn(`a${'\t'.repeat(60)}${'\n '.repeat(9)}b`)).toBe(0);
    expect(named(`\n${'\t'.repeat(10)}b\n\n\n${'\t'.repeat(4)}c`)).not.toContain('[');
    expect(named(`a${'\u200b'.repeat(3)}b`)).toBe('a[3 × U+200B]b');
    expect(named(`a${' '.repeat(40)}\n\n\nb`)).not.toContain('[');
  });

  test('a word of letters that look alike is found', () => {
    expect(isMixed('\u0430pple.com')).toBe(true);
    expect(isMixed('Αθήνα and Москва')).toBe(false);
    expect(isMixed('apple.com')).toBe(false);
    // Armenian, Cherokee, full-width and mathematical letters, and Cyrillic beside Greek.
    for (const word of [
      'ali\u0581e',
      '\u13aa0mmerzbank',
      '\uff41lice',
      '\u{1d41a}lice',
      'ali\u217de',
      '\u0440\u03b1\u0443',
    ])
      expect(isMixed(`pay ${word}.`), word).toBe(true);
    for (const word of ['1ª', 'nº 5', 'größe', '東京 Tokyo', 'Σ x', 'naïve', 'Ωmega-3 '.slice(5)])
      expect(isMixed(`pay ${word}.`), word).toBe(false);
  });
});

describe('JSON whose numbers stay as they are', () => {
  let source = '';
  JSON.parse('1', function (this: unknown, _key: string, _value: unknown, context?: { source?: string }) {
    source = context?.source ?? '';
  });

  // Node 20 tells no sources of numbers; browsers of today do, and test/console/console.test.ts tries one.
  test.skipIf(source === '')('a number that a double does not hold keeps its text', () => {
    const json = '{"id":3544790567247868102,"small":1,"huge":1e400,"zero":-0,"tenth":0.1}';
    expect(parseExact(json)).toMatchObject({ id: new ExactNumber('3544790567247868102'), small: 1, tenth: 0.1 });
    expect(exactText(parseExact(json))).toBe(json);
  });

  test('what is written is read again as the same', () => {
    for (const json of ['[]', '{}', 'null', '"a\\n"', '[1,[2,{"a":null}]]', '{"__proto__":1,"b":[true]}']) {
      expect(exactText(parseExact(json))).toBe(json);
      expect(exactText(parseExact(exactText(parseExact(json), 2)))).toBe(json);
    }
    expect(exactText({ a: [1, { b: 2 }] }, 2)).toBe(JSON.stringify({ a: [1, { b: 2 }] }, null, 2));
  });
});

describe('words', () => {
  test('durations have two units at most', () => {
    expect([420, 12_300, 185_000, 8_040_000, 360_000_000].map(durationText)).toEqual([
      ...['0.42 s', '12.3 s', '3 min 05 s', '2 h 14 min', '4 d 4 h'],
    ]);
  });

  test('money is the text of the server, cut only where it is told', () => {
    expect(usdText('0.000013375')).toBe('$0.000013375');
    expect(usdText('0.000013375', 2)).toBe('$0.000013');
    expect(usdText('12.345678', 4)).toBe('$12.34');
    expect(usdText(null)).toBe('unpriced');
    expect(usdText('0')).toBe('$0');
  });

  test('ids keep their kind, their beginning and their end', () => {
    expect(shortId('run_0123abcdef0123456789abcdefabcdef')).toBe('run_0123ab…cdef');
    expect(shortId('run_short')).toBe('run_short');
  });

  test('times near to now are relative', () => {
    expect(relativeText(0, 720_000)).toBe('12 min ago');
    expect(relativeText(8_040_000, 0)).toBe('in 2 h 14 min');
  });
});
