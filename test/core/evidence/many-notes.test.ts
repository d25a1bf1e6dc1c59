import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { checkProof } from '../../../src/proof/verify.mjs';

/** Bundles whose notes about keys were made to be many, or to say something that no key said. */

const NAME = 'example.com/log';

interface Key {
  readonly text: string;
  readonly id: Buffer;
  readonly privateKey: KeyObject;
}

function newKey(): Key {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const tagged = Buffer.concat([Buffer.of(1), Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')]);
  const id = createHash('sha256').update(`${NAME}\n`).update(tagged).digest().subarray(0, 4);
  return { text: `${NAME}+${id.toString('hex')}+${tagged.toString('base64')}`, id, privateKey };
}

const noteBy = (lines: readonly string[], ...by: readonly Key[]): string => {
  const text = `${lines.join('\n')}\n`;
  const signed = ({ id, privateKey }: Key) => Buffer.concat([id, sign(null, Buffer.from(text), privateKey)]);
  return `${text}\n${by.map((key) => `— ${NAME} ${signed(key).toString('base64')}\n`).join('')}`;
};
const handover = (from: Key, to: Key): string => noteBy([NAME, 'key hand-over', from.text, to.text, '100'], from, to);
const revocation = (revoked: Key, by: Key, name = NAME): string =>
  noteBy([name, 'key revocation', revoked.text, '0'], by);

/** Whether a checkpoint of one key is refused, by the notes of its bundle. */
function problemOf(signer: Key, trusted: Key, handovers: readonly string[]): string | null {
  const checkpoint = noteBy([NAME, '1', Buffer.alloc(32).toString('base64')], signer);
  const bundle = {
    format: 'holdfast-proof-v1',
    runId: 'r',
    tenant: 't',
    events: [],
    entry: {},
    inclusion: [],
    keys: [],
  };
  return checkProof(JSON.stringify({ ...bundle, checkpoint, handovers }), [trusted.text]).problem;
}
/** The check of keys is over, and what comes after it begins. */
const PASSED = 'the entry has no member "index"';

describe('notes about keys', () => {
  it('are read in a moment, as many as a bundle may have', () => {
    const keys = Array.from({ length: 500 }, newKey);
    const [first, last] = [keys[0], keys.at(-1)] as [Key, Key];
    // The last one first: each look at the list finds one more.
    const handovers = keys
      .slice(1)
      .map((key, index) => handover(keys[index] as Key, key))
      .reverse();
    const revocations = keys.slice(0, -1).map((key) => revocation(key, last));
    const began = performance.now();
    expect(problemOf(last, first, [...handovers, ...revocations])).toBe(PASSED);
    expect(performance.now() - began).toBeLessThan(20_000);
  });

  it('revoke a key in the name of the key that signs, and in no other', () => {
    const [older, newer] = [newKey(), newKey()];
    const passed = handover(older, newer);
    expect(problemOf(older, newer, [passed])).toBe(PASSED);
    expect(problemOf(older, newer, [passed, revocation(older, newer)])).toContain('is believed up to 0');
    expect(problemOf(older, newer, [passed, revocation(older, newer, 'example.com/other')])).toBe(PASSED);
    expect(problemOf(older, newer, [passed, revocation(older, older)])).toBe(PASSED);
  });
});
