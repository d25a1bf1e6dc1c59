import { describe, expect, it } from 'vitest';
import { canonical, type JsonObject, type JsonValue } from '../../../src/core/json.js';
import { seededRandom } from '../../../src/core/seeded-random.js';
import { applyChange, type StateOp } from '../../../src/core/tools/agent-state.js';
import { CrdtDocument, type KeptChange } from '../../../src/storage/memory/crdt-document.js';

/** Documents of memory against a model that is plain JSON, and what no merge may lose. */

const NAMES = ['a', 'b', 'c/d', '__proto__'] as const;
const pick = <T>(random: () => number, from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;

function valueIn(random: () => number, depth = 0): JsonValue {
  const kind = pick(random, depth > 1 ? ['text', 'number', 'null'] : ['text', 'number', 'null', 'list', 'object']);
  if (kind === 'text') return pick(random, ['x', 'y', '']);
  if (kind === 'number') return Math.floor(random() * 9);
  if (kind === 'null') return null;
  if (kind === 'list') return Array.from({ length: Math.floor(random() * 4) }, () => valueIn(random, 2));
  return Object.fromEntries(NAMES.slice(0, Math.floor(random() * 4)).map((name) => [name, valueIn(random, depth + 1)]));
}

function pathIn(random: () => number): string {
  const names = Array.from({ length: 1 + Math.floor(random() * 2) }, () => pick(random, NAMES));
  return names.map((name) => `/${name.replaceAll('/', '~1')}`).join('');
}

function opIn(random: () => number): StateOp {
  const path = pathIn(random);
  const op = pick(random, ['set', 'remove', 'add', 'append'] as const);
  if (op === 'set') return { op, path, value: valueIn(random) };
  if (op === 'remove') return { op, path };
  if (op === 'add') return { op, path, by: 1 + Math.floor(random() * 5) };
  return { op, path, values: [valueIn(random, 2)] };
}

/** The model puts an object in the place of what has no members, also where it only removes: that is left out. */
const isRemovalBelowNothing = (value: JsonObject, { op, path }: StateOp): boolean => {
  const above = path
    .split('/')
    .slice(1, -1)
    .map((name) => name.replaceAll('~1', '/'));
  const held = above.reduce<JsonValue | undefined>(
    (at, name) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, name) ? (at as JsonObject)[name] : undefined,
    value,
  );
  return op === 'remove' && above.length > 0 && (typeof held !== 'object' || held === null || Array.isArray(held));
};

describe('a document of memory', () => {
  it('becomes what plain JSON becomes by the same changes, one after the other', async () => {
    for (let seed = 0; seed < 60; seed++) {
      const random = seededRandom(`sequence ${seed}`);
      let model = { version: 0, value: {} as JsonObject };
      let document = await CrdtDocument.empty();
      const changes: KeptChange[] = [];
      for (let version = 1; version <= 12; version++) {
        const op = opIn(random);
        if (isRemovalBelowNothing(model.value, op)) continue;
        model = applyChange(model, { seen: 0, changes: [op] });
        document.change([op], version, null);
        changes.push({ version, base: version - 1, ops: [op] });
        expect(canonical(document.value), `seed ${seed}, ${JSON.stringify(changes)}`).toBe(canonical(model.value));
        document = await CrdtDocument.load(document.bytes);
      }
      const { document: again } = await CrdtDocument.from(changes);
      expect(again.value).toEqual(document.value);
    }
  });

  it('is the same bytes from the same changes', async () => {
    const random = seededRandom('bytes');
    const changes = Array.from({ length: 30 }, (_, at): KeptChange => {
      return { version: at + 1, base: Math.floor(random() * (at + 1)), ops: [opIn(random)] };
    });
    const [one, other] = [await CrdtDocument.from(changes), await CrdtDocument.from(changes)];
    expect(one.document.bytes.equals(other.document.bytes)).toBe(true);
    expect(one.frontiers).toEqual(other.frontiers);
  });

  it('loses no addition and no item of writers who did not know of each other, in whatever order they come', async () => {
    for (let seed = 0; seed < 25; seed++) {
      const random = seededRandom(`merge ${seed}`);
      const first: KeptChange = {
        ...{ version: 1, base: 0 },
        ops: [
          { op: 'set', path: '/n', value: 10 },
          { op: 'set', path: '/list', value: ['first'] },
          { op: 'set', path: '/of/x', value: 'x' },
        ],
      };
      const writers = Array.from({ length: 2 + Math.floor(random() * 6) }, (_, at): readonly StateOp[] => [
        { op: 'add', path: '/n', by: at + 0.5 },
        { op: 'append', path: '/list', values: [`item ${at}`] },
        { op: 'set', path: `/of/${at}`, value: at },
        { op: 'add', path: '/made/count', by: 1 },
      ]);
      const values: JsonObject[] = [];
      for (const order of [writers, writers.toReversed()]) {
        const changes = order.map((ops, at): KeptChange => ({ version: at + 2, base: 1, ops }));
        const { document } = await CrdtDocument.from([first, ...changes]);
        values.push(document.value);
      }
      for (const value of values) {
        expect(value['n']).toBe(10 + writers.reduce((sum, _, at) => sum + at + 0.5, 0));
        expect(value['made']).toEqual({ count: writers.length });
        expect([...(value['list'] as string[])].sort()).toEqual(
          ['first', ...writers.map((_, at) => `item ${at}`)].sort(),
        );
        expect(Object.keys(value['of'] as object)).toHaveLength(writers.length + 1);
      }
      const [one, other] = values;
      expect({ ...one, list: 0 }).toEqual({ ...other, list: 0 });
    }
  });

  it('keeps an item that was appended beside a new list, and an addition beside a new number', async () => {
    const { document } = await CrdtDocument.from([
      { version: 1, base: 0, ops: [] },
      {
        version: 2,
        base: 1,
        ops: [
          { op: 'set', path: '/list', value: ['a', 'b'] },
          { op: 'set', path: '/n', value: 0.1 },
        ],
      },
      {
        version: 3,
        base: 2,
        ops: [
          { op: 'append', path: '/list', values: ['c'] },
          { op: 'add', path: '/n', by: 5 },
        ],
      },
      {
        version: 4,
        base: 2,
        ops: [
          { op: 'set', path: '/list', value: ['b', 'z'] },
          { op: 'set', path: '/n', value: 1 },
        ],
      },
      { version: 5, base: 2, ops: [{ op: 'remove', path: '/list' }] },
    ]);
    expect(document.value['n']).toBe(6);
    expect([...(document.value['list'] as string[])].sort()).toEqual(['b', 'c', 'z']);
  });
});
