import { describe, expect, it } from 'vitest';
import { openCheckpoint, signCheckpoint } from '../../../src/core/evidence/checkpoint.js';
import { EMPTY_ROOT, leafHash } from '../../../src/core/evidence/merkle.js';
import {
  openNote,
  parsePublicKey,
  parseSigningKey,
  type SigningKey,
  signersOf,
  signingKeyText,
  signNote,
} from '../../../src/core/evidence/signed-note.js';

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

describe('Ed25519', () => {
  /** RFC 8032, 7.1. */
  const VECTORS = [
    {
      seed: '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60',
      public: 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
      text: '',
      signature:
        'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
    },
    {
      seed: '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb',
      public: '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
      text: 'r',
      signature:
        '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
    },
  ] as const;
  const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
  /** Another number that is the same by the order of the group: a signature that no one made. */
  const beyondOrder = (signature: Buffer): Buffer => {
    const s = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString('hex')}`) + ORDER;
    return Buffer.concat([signature.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse()]);
  };

  it.each(VECTORS)('makes and accepts the published signature of "$text", and no other', (vector) => {
    const { public: known, ...key } = keyFrom(signingKeyText('rfc8032', Buffer.from(vector.seed, 'hex')));
    const bytes = Buffer.from(vector.signature, 'hex');
    expect(Buffer.from(known.text.split('+').slice(2).join('+'), 'base64').toString('hex')).toBe(`01${vector.public}`);
    const [, base64 = ''] = /rfc8032 (\S+)\n$/.exec(signNote(vector.text, { public: known, ...key })) ?? [];
    expect(Buffer.from(base64, 'base64').toString('hex')).toBe(`${known.id}${vector.signature}`);
    const signers = (text: string, signed: Buffer) =>
      signersOf({ text, signatures: [{ name: known.name, id: known.id, bytes: signed }] }, [known]);
    expect(signers(vector.text, bytes)).toEqual([known]);
    expect(signers(`${vector.text}x`, bytes)).toEqual([]);
    expect(signers(vector.text, beyondOrder(bytes))).toEqual([]);
    expect(signers(vector.text, bytes.subarray(1))).toEqual([]);
    expect(signers(vector.text, Buffer.alloc(64))).toEqual([]);
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
