import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/** The attributes of each field in a file: up to the end of its element. */
const fieldsIn = (text: string): readonly string[] =>
  [...text.matchAll(/<(?:input|textarea)\b((?:[^>]|=>)*?)\/?>(?!=)/g)].map(([, attributes = '']) => attributes);

/** A box names itself by its value; what it holds is whether it is checked. */
const isBox = (attributes: string): boolean => /type="(?:checkbox|radio)"/.test(attributes);
const isKept = (attributes: string): boolean =>
  isBox(attributes)
    ? !/\schecked(?:=\{|\s|$)/.test(attributes) || attributes.includes('onChange=')
    : !/\svalue=\{/.test(attributes) || attributes.includes('onInput=');

test('no field is set again to what it was at first while someone types: it has a state of its own, or only a default', () => {
  const files = readdirSync('src/console', { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.tsx'),
  );
  expect(files.length).toBeGreaterThan(50);
  const lost = files.flatMap((file) =>
    fieldsIn(readFileSync(join('src/console', file), 'utf8'))
      .filter((attributes) => !isKept(attributes))
      .map((attributes) => `${file}: ${attributes.trim()}`),
  );
  expect(lost).toEqual([]);
});

test.each([
  ['name="a" value={share}', false],
  ['value={x} onChange={(e) => f(e)}', false],
  ['type="checkbox" checked', false],
  ['value={x} onInput={(e) => f(e)}', true],
  ['type="checkbox" checked={a} onChange={(e) => f(e)}', true],
  ['type="checkbox" value={status} defaultChecked={at === 0}', true],
  ['name="a" defaultValue={share}', true],
])('%s', (attributes, kept) => {
  expect(fieldsIn(`<input ${attributes} />`).map(isKept)).toEqual([kept]);
});
