import { describe, expect, it } from 'vitest';
import { openCheckpoint, signCheckpoint } from '../../src/core/checkpoint.js';
import { EMPTY_ROOT, leafHash } from '../../src/core/merkle.js';
import {
  openNote,
  parsePublicKey,
  parseSigningKey,
  type SigningKey,
  signersOf,
  signingKeyText,
  signNote,
} from '../../src/core/signed-note.js';

/** The example of the documentation of golang.org/x/mod/sumdb/note. */
const GO = {
  private: 'PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz',
  public: 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW',
  text: "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n",
  line: '— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n',
};

function keyFrom(text: string): SigningKey {
  const key = parseSigningKey(text);
  if (key === null) throw new Error('expected a signing key');
  return key;
}
const keyOf = (name: string, byte: number): SigningKey => keyFrom(signingKeyText(name, Buffer.alloc(32, byte)));

describe('signed notes', () => {
  it('are those of another implementation', () => {
    expect(signNote(GO.text, keyFrom(GO.private))).toBe(`${GO.text}\n${GO.line}`);
    const key = parsePublicKey(GO.public);
    expect(key).toMatchObject({ name: 'PeterNeumann', id: 'c74f20a3' });
    const note = openNote(`${GO.text}\n${GO.line}`);
    expect(note && key && signersOf(note, [key])).toEqual([key]);
  });

  it.each([
    ['another text', (note: string) => note.replace('cryptography', 'chocolate')],
    ['another signature', (note: string) => note.replace('x08go/ZJ', 'x08go/ZK')],
    ['a signature of another name', (note: string) => note.replace('— Peter', '— Petra')],
  ])('%s is not signed', (_name, change) => {
    const key = parsePublicKey(GO.public);
    const note = openNote(change(`${GO.text}\n${GO.line}`));
    expect(note && key && signersOf(note, [key])).toEqual([]);
  });

  it.each([
    ['no signature', 'text\n\n'],
    ['no empty line', `text\n${GO.line}`],
    ['no line feed at its end', `text\n\n${GO.line.trimEnd()}`],
    ['a line that is no signature', `text\n\n${GO.line}more\n`],
    ['a hyphen in place of the dash', `text\n\n-${GO.line.slice(1)}`],
    ['a control character', `te\txt\n\n${GO.line}`],
    ['base64 that is none', 'text\n\n— a b=cd\n'],
  ])('with %s it is no note', (_name, note) => {
    expect(openNote(note)).toBe(null);
  });

  it('a signature that is wrong makes the whole note worthless, one of a stranger does not', () => {
    const [a, b] = [keyOf('log', 1), keyOf('log', 2)];
    const both = signNote('text\n', a, b);
    const opened = openNote(both);
    expect(opened && signersOf(opened, [a.public]).map(({ id }) => id)).toEqual([a.public.id]);
    const swapped = openNote(both.replace('text', 'tent'));
    expect(swapped && signersOf(swapped, [a.public, b.public])).toEqual([]);
  });

  it('keys are what they say, or none', () => {
    expect(parsePublicKey(GO.public.replace('c74f20a3', 'c74f20a4'))).toBe(null);
    expect(parsePublicKey(GO.public.replace('PeterNeumann', 'PeterNewman'))).toBe(null);
    expect(parsePublicKey(GO.private)).toBe(null);
    expect(parseSigningKey(GO.public)).toBe(null);
    expect(parseSigningKey(GO.private.replace('c74f20a3', 'c74f20a4'))).toBe(null);
  });
});

describe('checkpoints', () => {
  const key = keyOf('holdfast/test', 7);

  it('are what they were signed as', () => {
    const signed = signCheckpoint(12, leafHash('x'), key);
    expect(signed.note.split('\n').slice(0, 3)).toEqual([
      'holdfast/test',
      '12',
      Buffer.from(leafHash('x'), 'hex').toString('base64'),
    ]);
    expect(openCheckpoint(signed.note, [key.public])).toMatchObject({ size: 12, root: leafHash('x') });
  });

  it.each([
    ['of another key', () => signCheckpoint(1, EMPTY_ROOT, keyOf('holdfast/test', 8)).note, /no key that is trusted/],
    ['with another size', () => signCheckpoint(1, EMPTY_ROOT, key).note.replace('\n1\n', '\n2\n'), /no key/],
    ['of another log', () => signNote(`other\n1\n${'A'.repeat(43)}=\n`, key), /another log/],
    ['with a size that is none', () => signNote(`holdfast/test\n01\n${'A'.repeat(43)}=\n`, key), /no checkpoint/],
    ['with a root that is too short', () => signNote('holdfast/test\n1\nAAAA\n', key), /no checkpoint/],
    ['that is no note', () => 'holdfast/test\n', /no signed note/],
  ])('one %s is refused', (_name, note, why) => {
    expect(openCheckpoint(note(), [key.public])).toMatch(why);
  });
});
