import { afterAll, beforeAll, expect, test } from 'vitest';
import { LOCAL_CALLER } from '../../src/core/caller.js';
import { HoldfastError } from '../../src/core/errors/errors.js';
import type { Argument } from '../../src/engine/argument.js';
import type { Engine } from '../../src/engine/engine.js';
import { ARGUMENTS } from '../../src/engine/method-arguments.js';
import { describeEachDatabase } from '../harness/database.js';
import { type Door, openDoor } from '../http/door.js';

type Method = (...given: readonly unknown[]) => unknown;
const METHODS: readonly (readonly [name: string, shapes: readonly Argument[]])[] = Object.entries(ARGUMENTS);

/** What programs in JavaScript give in the place of another thing. */
const WRONG: readonly unknown[] = [
  ...[null, 5, -1, 1.5, Number.NaN, 2 ** 40, true, 5n, '', 'x', 'a\u0000b', 'a\ud800b', Symbol('x')],
  ...[{}, { a: 1 }, { limit: '5', cursor: null }, { signal: 5 }, [], () => 1, new Date(Number.NaN), LOCAL_CALLER],
];
/** By the names of arguments. What they name does not exist. */
const RIGHT: Readonly<Record<string, unknown>> = {
  ...{ caller: LOCAL_CALLER, seq: 1, reason: null, at: 1, filter: { limit: 5 }, sizes: { earlier: 0, size: 0 } },
  ...{ of: undefined, range: {}, idempotencyKey: undefined, options: undefined, '': {} },
};

describeEachDatabase('methods of the engine', (kind) => {
  let door: Door;
  beforeAll(async () => {
    door = await openDoor(kind);
  });
  afterAll(() => door.close());

  /** Undefined: nothing was thrown. */
  const thrownBy = async (name: string, given: readonly unknown[]): Promise<unknown> => {
    try {
      const result = await Reflect.apply(door.engine[name as keyof Engine] as Method, door.engine, given);
      const stream = Object(result) as Partial<AsyncIterable<unknown>>;
      for await (const _ of stream[Symbol.asyncIterator] === undefined ? [] : (stream as AsyncIterable<unknown>)) break;
      return undefined;
    } catch (error) {
      return error;
    }
  };
  const checked = METHODS.filter(([name]) => name !== 'recordAccess' && name !== 'countRequest');

  test('refuse each argument of another type, and say which', async () => {
    for (const [method, shapes] of checked)
      for (const [index, { name }] of shapes.entries()) {
        const given = shapes.map((_, at) => (at === index ? Symbol('wrong') : undefined));
        const error = await thrownBy(method, given);
        expect(error, `${method} ${name}`).toBeInstanceOf(HoldfastError);
        const { code, message, fields = [] } = error as HoldfastError;
        expect(code, `${method} ${name}`).toBe('invalid_request');
        expect(message).toContain(`engine.${method}: `);
        const pointer = name === '' ? '' : `/${name}`;
        expect(fields.some((one) => one.pointer === pointer || one.pointer.startsWith(`${pointer}/`))).toBe(true);
      }
  });

  test('throw errors of the table, whatever they are given', async () => {
    for (const [method, shapes] of checked) {
      const right = shapes.map(({ name }) => (Object.hasOwn(RIGHT, name) ? RIGHT[name] : 'none'));
      for (const index of shapes.keys())
        for (const wrong of WRONG) {
          const error = await thrownBy(
            method,
            right.map((one, at) => (at === index ? wrong : one)),
          );
          if (error !== undefined && !(error instanceof HoldfastError))
            expect.fail(`${method}, argument ${index} ${String(wrong)}: ${String(error)}`);
        }
    }
  });

  test('take no options in the place of the caller, and no caller without its parts', async () => {
    const { engine } = door;
    const options: never = { waitMs: 5 } as never;
    await expect(engine.getRun('none', options)).rejects.toMatchObject({
      code: 'invalid_request',
      fields: expect.arrayContaining([{ pointer: '/caller/actor', detail: expect.any(String) }]),
    });
    const { tenant: _, ...rest } = LOCAL_CALLER;
    await expect(engine.listSessions({ limit: 5 }, rest as never)).rejects.toMatchObject({ code: 'invalid_request' });
    const wrong = { verdict: 'approve', always: false } as never;
    await expect(engine.decide('none', wrong, LOCAL_CALLER)).rejects.toMatchObject({
      code: 'invalid_request',
      fields: [{ pointer: '/always', detail: expect.any(String) }],
    });
  });
});
