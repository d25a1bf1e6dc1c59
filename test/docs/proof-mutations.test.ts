import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { signHandover, signRevocation } from '../../src/core/evidence/key-handover.js';
import { parseSigningKey, signingKeyText } from '../../src/core/evidence/signed-note.js';
import { checkProof } from '../../src/proof/verify.mjs';
import { ROOT } from './pages.js';

/** Each member and item of a proof in turn is changed, removed, doubled and moved: nothing that is proven may then still be. */

const keyOf = (byte: number) => {
  const key = parseSigningKey(signingKeyText('example.com/log', Buffer.alloc(32, byte)));
  if (key === null) throw new Error('a key that was just made is one');
  return key;
};
const [KEY, NEXT, THIRD] = [keyOf(1), keyOf(2), keyOf(3)];

/** A JSON text in parts, which can be put together in ways that no object has. */
type Node =
  | { readonly is: 'object'; members: (readonly [string, Node])[] }
  | { readonly is: 'list'; items: Node[] }
  | { readonly is: 'text'; readonly text: string };
const leaf = (text: string): Node => ({ is: 'text', text });
function nodeOf(value: unknown): Node {
  if (Array.isArray(value)) return { is: 'list', items: value.map(nodeOf) };
  if (typeof value !== 'object' || value === null) return leaf(JSON.stringify(value));
  return { is: 'object', members: Object.entries(value).map(([name, of]) => [name, nodeOf(of)] as const) };
}
const textOf = (node: Node): string => {
  if (node.is === 'text') return node.text;
  if (node.is === 'list') return `[${node.items.map(textOf).join()}]`;
  return `{${node.members.map(([name, of]) => `${JSON.stringify(name)}:${textOf(of)}`).join()}}`;
};

const other = (sign: string): string => (/[0-8]/.test(sign) ? String(Number(sign) + 1) : sign === 'a' ? 'b' : 'a');
const flipped = (text: string, at: number): string =>
  JSON.stringify(text.slice(0, at) + other(text[at] ?? '') + text.slice(at + 1));

/** What stands in the place of a text or number, by what was done. */
function othersOf(text: string): readonly (readonly [string, string])[] {
  const value: unknown = JSON.parse(text);
  const wrong = ['null', '0', '-0', '1e999', 'true', 'false', '""', '{}', '[]', `[${text}]`].map(
    (one) => [one, one] as const,
  );
  if (typeof value === 'number')
    return [
      ...wrong,
      ...['+1', '+0.5'].map((add) => [add, String(value + Number(add))] as const),
      ['.0', `${text}.0`],
      ['e0', `${text}e0`],
    ];
  if (typeof value !== 'string') return wrong;
  const last = value.length - 1;
  const places = value === '' ? [] : [0, last >> 1, last];
  const said = [`${value} `, ` ${value}`, `${value}\n`, `${value}\0`, value.toUpperCase()];
  return [
    ...wrong,
    ...places.map((at) => ['flip', flipped(value, at)] as const),
    ...said.map((one) => ['said', JSON.stringify(one)] as const),
    ['half', `${text.slice(0, -1)}\\ud800"`],
  ];
}

/** Calls `found` with each way to change the text, with what was changed and how. The node is as before afterwards. */
function eachChange(
  node: Node,
  path: string,
  found: (path: string, how: string) => void,
  put: (node: Node) => void,
): void {
  if (node.is === 'text') {
    for (const [how, text] of othersOf(node.text)) {
      if (text === node.text) continue;
      put(leaf(text));
      found(path, how);
    }
    put(node);
    return;
  }
  if (node.is === 'list') {
    const whole = node.items;
    const tried = (items: Node[], at: string, how: string): void => {
      node.items = items;
      found(at, how);
      node.items = whole;
    };
    for (const [place, item] of whole.entries()) {
      const at = `${path}/*`;
      eachChange(item, at, found, (next) => {
        node.items = whole.with(place, next);
      });
      node.items = whole;
      tried(whole.toSpliced(place, 1), at, 'removed');
      tried(whole.toSpliced(place, 0, item), at, 'doubled');
      if (place > 0)
        tried([...whole.slice(0, place - 1), item, ...whole.slice(place - 1).toSpliced(1, 1)], at, 'moved');
    }
    tried([...whole, leaf('null')], path, 'longer');
    return;
  }
  const whole = node.members;
  const tried = (members: (readonly [string, Node])[], at: string, how: string): void => {
    node.members = members;
    found(at, how);
    node.members = whole;
  };
  for (const [place, [name, of]] of whole.entries()) {
    const at = `${path}/${name}`;
    eachChange(of, at, found, (next) => {
      node.members = whole.with(place, [name, next]);
    });
    node.members = whole;
    tried(whole.toSpliced(place, 1), at, 'removed');
    tried(whole.toSpliced(place, 0, [name, of]), at, 'doubled');
    tried([...whole, [name, leaf('null')]], at, 'said twice');
    tried(whole.with(place, [`${name}_`, of]), at, 'renamed');
  }
  for (const name of ['more', '__proto__', '']) tried([...whole, [name, leaf('1')]], path, `with ${name}`);
}

const vectors = z.object({ proof: z.looseObject({}) });

it('no change of a member or an item leaves a proof what it was, but for the keys and notes that prove nothing of it', () => {
  const page = readFileSync(join(ROOT, 'docs/evidence/proof-format.md'), 'utf8');
  const { proof } = vectors.parse(
    JSON.parse(/```json\n([\s\S]*?)```/.exec(page.slice(page.indexOf('<!-- vectors')))?.[1] ?? ''),
  );
  const handovers = [signHandover(KEY, NEXT, 2), signHandover(NEXT, THIRD, 5), signRevocation(KEY.public, 1, THIRD)];
  const root = nodeOf({ ...proof, handovers, keys: [KEY.public.text, NEXT.public.text] });
  const check = () => checkProof(textOf(root), [KEY.public.text]);
  expect(check()).toMatchObject({ ok: true });
  const still = new Set<string>();
  let tried = 0;
  eachChange(
    root,
    '',
    (path, how) => {
      tried += 1;
      if (check().ok) still.add(`${path} ${how}`);
    },
    () => {},
  );
  expect(tried).toBeGreaterThan(1500);
  expect([...still].toSorted()).toEqual([
    // Without a note, or in another order, this key is believed all the same. A revocation with other words is none that a key signed.
    ...['/handovers/* doubled', '/handovers/* flip', '/handovers/* moved', '/handovers/* removed', '/handovers/* said'],
    // The keys of a bundle are there to be compared.
    ...['/keys/* doubled', '/keys/* moved', '/keys/* removed'],
  ]);
});
