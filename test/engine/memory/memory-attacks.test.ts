import { randomBytes } from 'node:crypto';
import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import type { JsonObject } from '../../../src/core/json.js';
import { MEMORY_LIMITS, type ToolMemory } from '../../../src/core/tools/tool-memory.js';
import { defineAgent, defineTool, functionModel, memorySpace } from '../../../src/index.js';
import { describeEachDatabaseSlowly } from '../../harness/database.js';
import { dataOf, engineFor, restOf, runToRest } from '../../harness/engine.js';
import { call, outputAfter, say } from '../../harness/script.js';

/** Calls that mean harm to memory: each is refused by name and at once, or does nothing but what it says. */

const facts = memorySpace({ name: 'facts', scope: 'tenant' });
const secret = memorySpace({ name: 'facts2', scope: 'tenant' });
const inside = (levels: number): JsonObject => JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`);
const many = <T>(length: number, make: (n: number) => T): T[] => Array.from({ length }, (_, n) => make(n));
const set = (path: string, value: unknown = 1) => ({ op: 'set' as const, path, value: value as never });
const keep = (key: unknown) => (memory: ToolMemory) => memory.remember('facts', { a: 1 }, { key: key as string });
const ask = (query: unknown) => (memory: ToolMemory) => memory.recall('facts', query as object);
const change = (...changes: unknown[]) => {
  const made = { changes: changes as ReturnType<typeof set>[] };
  return (memory: ToolMemory) => memory.revise('facts', 'seed', made);
};
/** What is kept of a value. */
const kept = (value: JsonObject, key: string) => async (memory: ToolMemory) => {
  await memory.remember('facts', value, { key });
  return JSON.stringify((await memory.recall('facts', { key }))[0]?.value);
};
const keysOf = async (found: Promise<readonly { readonly key: string }[]>) => (await found).map(({ key }) => key);
const odd = JSON.parse('{"__proto__":{"a":1},"l":[{"__proto__":{"x":1},"y":2},{"holdfast:json":"1"}]}');
const forged = (ref: unknown) => (memory: ToolMemory) =>
  memory.remember('facts', { a: 1 }, { key: 'forged', derivedFrom: [ref as never] });

/** A change of the first version of a document that has had another change since. */
const late = (made: object) => async (memory: ToolMemory) => {
  const key = `late ${JSON.stringify(made)}`;
  await memory.remember('facts', { text: 'x', n: 1, list: [1], in: { n: 1 } }, { key });
  await memory.revise('facts', key, { changes: [set('/other')] });
  await memory.revise('facts', key, { version: 1, changes: [made as ReturnType<typeof set>] });
  return JSON.stringify((await memory.recall('facts', { key }))[0]?.value);
};

type Attack = readonly [name: string, attack: (memory: ToolMemory) => Promise<unknown>, becomes: unknown];
const invalid = { code: 'memory_invalid' };
const unknown = { code: 'memory_unknown' };

const ATTACKS: readonly Attack[] = [
  ['a key with NUL', keep('a\u0000b'), invalid],
  ['a key with half a character', keep('\ud800'), invalid],
  ['a huge key', keep('x'.repeat(100_000)), invalid],
  ['an empty key', keep(''), invalid],
  ['a key that is an object', keep({ toString: () => 'seed' }), invalid],
  ['a key that climbs', keep('../../other/x'), { key: '../../other/x', version: 1 }],
  ['a key called __proto__', keep('__proto__'), { key: '__proto__', version: 1 }],
  ['a space that is not its own', (memory) => memory.remember('other', { a: 1 }), unknown],
  ['a space called __proto__', (memory) => memory.recall('__proto__'), unknown],
  ['a space that is granted to none', (memory) => memory.recall('facts2'), { code: 'capability_denied' }],
  ['a write that only reading is granted', (memory) => memory.forget('facts2', 'x'), { code: 'capability_denied' }],
  ['texts with NUL', kept({ 'x\u0000y': 'x\u0000y' }, 'nul'), JSON.stringify({ 'x\u0000y': 'x\u0000y' })],
  ['prototypes', kept(odd, 'odd'), JSON.stringify(odd)],
  ['a document that nests too deep', (memory) => memory.remember('facts', inside(5000)), invalid],
  ['a document beyond its bound', (memory) => memory.remember('facts', { a: 'x'.repeat(70_000) }), invalid],
  ['a document that is a list', (memory) => memory.remember('facts', [1] as never), invalid],
  ['a path with more names than any has', change(set('/a'.repeat(8000))), invalid],
  ['a path below the deepest value', change(set('/a'.repeat(60), inside(160))), invalid],
  ['a path with half a character', change({ op: 'append', path: '/\ud800', values: [1] }), invalid],
  ['a path that is none', change(set('x')), invalid],
  ['a path of nothing', change(set('')), invalid],
  ['a path into a list', change(set('/list/0')), invalid],
  ['a sum beyond all numbers', change(...many(2, () => ({ op: 'add', path: '/n', by: 1.7e308 }))), invalid],
  ['a sum of no number', change({ op: 'add', path: '/n', by: Number.NaN }), invalid],
  ['a sum in the place of a text', change({ op: 'add', path: '/text', by: 1 }), invalid],
  ['a list in the place of a number', change({ op: 'append', path: '/n', values: [1] }), invalid],
  ['a member of a text', change(set('/text/a')), invalid],
  ['a sum in the place of a text, late', late({ op: 'add', path: '/text', by: 1 }), invalid],
  ['a list in the place of a number, late', late({ op: 'append', path: '/n', values: [1] }), invalid],
  ['a sum in the place of an object, late', late({ op: 'add', path: '/in', by: 1 }), invalid],
  ['a member of a text, late', late(set('/text/a')), invalid],
  ['a change that is none', change({ op: 'move', from: '/n', path: '/m' }), invalid],
  ['more operations than a change has', change(...many(1001, () => set('/n'))), invalid],
  [
    'a change of a version to come',
    (memory) => memory.revise('facts', 'seed', { changes: [set('/n')], version: 2 ** 40 }),
    unknown,
  ],
  ['a source as large as a book', forged({ space: 'x'.repeat(1e6), key: 'y', version: 1 }), invalid],
  ['a source with NUL', forged({ space: 'facts', key: '\u0000', version: 1 }), invalid],
  ['a source of a space that is not its own', forged({ space: 'other', key: 'y', version: 1 }), unknown],
  ['words with NUL', ask({ query: 'a\u0000b' }), invalid],
  ['words with NUL, one of which will do', ask({ query: 'a\u0000b', match: 'any' }), invalid],
  ['words that are none', (memory) => keysOf(ask({ query: '!!! ((( &&& --' })(memory)), []],
  ['words that are none, any', (memory) => keysOf(ask({ query: '!!! \' \\ "', match: 'any' })(memory)), []],
  ['words with operators', (memory) => keysOf(ask({ query: `hello & !(a|b) <-> c:* \\'` })(memory)), []],
  ['words that are SQL', (memory) => keysOf(ask({ query: `'); drop table holdfast.runs; --` })(memory)), []],
  ['words that are a pattern', (memory) => keysOf(ask({ query: '(.*)+$ h.*', match: 'any' })(memory)), []],
  ['a hundred words', (memory) => keysOf(ask({ query: 'hello or '.repeat(50) })(memory)), ['seed']],
  ['more words than any query has', ask({ query: 'a '.repeat(1000) }), invalid],
  ['the owner of someone else', ask({ owner: 'other' }), invalid],
  ['more documents than an answer has', ask({ limit: 1e9 }), invalid],
];

/** Changes that would take long, or grow for ever. */
const BOMBS: readonly Attack[] = [
  [
    'a thousand lists in a document of four thousand numbers',
    async (memory) => {
      const numbers = Object.fromEntries(many(4000, (n) => [`k${n}`, n]));
      await memory.remember('facts', { start: 1 }, { key: 'wide' });
      await memory.revise('facts', 'wide', { changes: [set('/big', numbers)] });
      await memory.revise('facts', 'wide', {
        changes: many(1000, (n) => ({ op: 'add' as const, path: `/big/k${n}`, by: 1 })),
      });
      await memory.revise('facts', 'wide', {
        changes: many(1000, (n) => ({ op: 'append' as const, path: `/l${n}`, values: [n] })),
        version: 1,
      });
      const [wide] = await memory.recall('facts', { key: 'wide' });
      return { version: wide?.version, members: Object.keys(wide?.value ?? {}).length };
    },
    { version: 4, members: 1002 },
  ],
  [
    'a history that grows for ever',
    async (memory) => {
      for (let n = 0; n < 45; n++)
        await memory.remember('facts', { a: randomBytes(48_000).toString('base64') }, { key: 'grows' });
      return 'grew';
    },
    invalid,
  ],
];

const TABLE = new Map([...ATTACKS, ...BOMBS].map(([name, attack]) => [name, attack]));
const attack = defineTool({
  ...{ name: 'attack', description: 'Attacks.', input: z.object({ name: z.string() }), output: z.json() },
  effect: 'idempotent',
  execute: async ({ name }, { memory }) => {
    try {
      return { made: JSON.parse(JSON.stringify((await TABLE.get(name)?.(memory)) ?? null)) };
    } catch (error) {
      // What has no code was not refused, but went wrong.
      const { code, message } = error as { readonly code?: string; readonly message: string };
      return { code: code ?? 'none', message: message.slice(0, 2000) };
    }
  },
});

const seed = [call('attack', { name: 'seed' }, 'seed')];
TABLE.set('seed', (memory) => memory.remember('facts', { text: 'hello', n: 1, list: [1] }, { key: 'seed' }));
const calls = (of: readonly Attack[]) => of.map(([name]) => call('attack', { name }, name));
const agents = [
  defineAgent({
    agent: new Agent({
      ...{ name: 'attacker', tools: [attack] },
      model: functionModel('attacker', async ({ input }) =>
        outputAfter([seed, calls(ATTACKS), ...BOMBS.map((one) => calls([one])), [say('done')]], input),
      ),
    }),
    grants: ['tool:call:*', 'memory:read:facts', 'memory:write:facts'],
    memory: [facts, secret],
  }),
];

describeEachDatabaseSlowly('calls that mean harm to memory', (kind) => {
  const test = engineFor(kind, { agents });

  it('are refused by name, or do what they say', { timeout: 60_000 }, async () => {
    let run = await runToRest(test.engine, 'attacker');
    while (run.status === 'running') run = await restOf(test.engine, run.id);
    expect(run.status).toBe('completed');
    const finished = await dataOf(test.engine, run.id, 'call.finished');
    const outcomes = Object.fromEntries(
      finished.map((data) => {
        const { output } = data['outcome'] as { readonly output: { readonly made?: unknown; readonly code?: string } };
        return [String(data['callId']), output];
      }),
    );
    const plain = ([name, , becomes]: Attack) => {
      const out = outcomes[name] ?? {};
      return 'made' in out ? [name, { made: out.made }] : [name, { code: out.code }, becomes];
    };
    for (const one of [...ATTACKS, ...BOMBS]) {
      const [name, , becomes] = one;
      const isRefusal = becomes === invalid || becomes === unknown || (becomes as { code?: string }).code !== undefined;
      expect(plain(one)[1], name).toMatchObject((isRefusal ? becomes : { made: becomes }) as object);
    }
    const { message = '' } = outcomes['a history that grows for ever'] as { readonly message?: string };
    expect(message).toContain(`their bound is ${MEMORY_LIMITS.historyBytes}`);
    expect(finished.length).toBe(ATTACKS.length + BOMBS.length + 1);
    expect(({} as { a?: number }).a).toBeUndefined();
  });
});
