import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HoldfastError } from '../../../src/core/errors/errors.js';
import type { JsonValue } from '../../../src/core/json.js';
import { closureOf } from '../../../src/core/plans/closure.js';
import { compilePlan } from '../../../src/core/plans/compile-plan.js';
import { nextTurn } from '../../../src/core/plans/next-turn.js';
import { fillTemplate } from '../../../src/core/plans/template.js';
import { defineTool, toolSpecOf } from '../../../src/tools/define/define-tool.js';

/** Plans of someone who means harm: each is refused by name, at once, and reads nothing that is not there. */

const tools = new Map(
  [
    defineTool({
      ...{ name: 'read', description: 'Reads.', input: z.object({ id: z.string() }), output: z.json() },
      execute: ({ id }) => id,
    }),
    defineTool({
      ...{ name: 'get', description: 'Gets.', input: z.object({ host: z.string() }), output: z.string() },
      capabilities: ({ host }) => [`network:http:get https://${host}/`],
      execute: ({ host }) => host,
    }),
  ].map((tool) => [tool.name, toolSpecOf(tool)]),
);
const compile = (nodes: object, more: object = {}) => compilePlan('p', { nodes, ...more }, tools);
const read = (id: unknown = 'x', more: object = {}) => ({ type: 'tool', tool: 'read', arguments: { id }, ...more });
const never = { type: 'branch', cases: [{ when: 'false', nodes: { x: read() } }] };

/** What was thrown. */
function thrown(work: () => unknown): { readonly code: string; readonly message: string } | null {
  try {
    work();
    return null;
  } catch (error) {
    if (error instanceof HoldfastError) return { code: error.code, message: error.message };
    throw error;
  }
}

/** A block within itself, so often. */
const inside = (levels: number, around: (nodes: object) => object): object => {
  let nodes: object = { last: never };
  for (let level = 0; level < levels; level++) nodes = { [`x${level}`]: around(nodes) };
  return nodes;
};
const deepList = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

describe('a plan is refused', () => {
  it.each<[string, string, object]>([
    [
      'whose pointer a pattern would match for years',
      'is no JSON Pointer',
      { a: read({ $from: `${'/'.repeat(200)}~` }) },
    ],
    ['whose pointer has escapes that do not exist', 'is no JSON Pointer', { a: read({ $from: '/input/~2' }) }],
    ['whose pointer is very long', 'is no JSON Pointer', { a: read({ $from: `/input${'/a'.repeat(5000)}` }) }],
    ['that reads the prototype of its nodes', 'there is no node __proto__', { a: read({ $from: '/nodes/__proto__' }) }],
    [
      'with a node called __proto__',
      '/nodes/__proto__: expected',
      JSON.parse('{"__proto__": {"type": "walk"}, "A": {"type": "walk"}}'),
    ],
    [
      'with a node called __proto__ in a case of a branch',
      '/nodes/b/cases/0/nodes/__proto__: expected',
      JSON.parse('{"b": {"type": "branch", "cases": [{"when": "true", "nodes": {"__proto__": {"type": "walk"}}}]}}'),
    ],
    [
      'whose blocks go too deep',
      'nests deeper than 200 levels',
      inside(3000, (nodes) => ({ type: 'parallel', nodes })),
    ],
    ['whose template goes too deep', 'nests deeper than 200 levels', { a: read(deepList(5000)) }],
    [
      'whose expression goes too deep',
      'Exceeded maxDepth',
      { a: read({ $cel: `${'('.repeat(900)}1${')'.repeat(900)}` }) },
    ],
    ['whose expression is a pattern', 'uses matches', { a: read({ $cel: 'input.matches("(a+)+$")' }) }],
    ['whose expression goes through a list', 'uses all', { a: read({ $cel: 'input.all(x, input.all(y, true))' }) }],
    [
      'whose nodes need one another through a nested block',
      'a needs b needs a',
      { a: read({ $from: '/nodes/b' }), b: { type: 'parallel', nodes: { c: read({ $from: '/nodes/a' }) } } },
    ],
    [
      'whose condition needs what comes after it',
      'a needs b needs a',
      { a: { type: 'branch', cases: [{ when: 'nodes.b', nodes: { c: read() } }] }, b: read({ $from: '/nodes/a' }) },
    ],
    [
      'that reads a node inside of another',
      'there is no node c',
      { a: { type: 'parallel', nodes: { c: read() } }, b: read({ $from: '/nodes/c' }) },
    ],
    [
      'with more rounds than any may have',
      'expected number to be <=1000',
      { a: { type: 'loop', until: 'false', most: 1e9, nodes: { c: read() } } },
    ],
    [
      'that names a tool by its prototype',
      'there is no tool constructor',
      { a: { type: 'tool', tool: 'constructor' } },
    ],
    [
      'with more nodes than any may have',
      'expected at most 2000',
      Object.fromEntries(Array.from({ length: 2001 }, (_, n) => [`n${n}`, read()])),
    ],
  ])('%s', (_what, why, nodes) => {
    const refused = thrown(() => compile(nodes));
    expect(refused).toMatchObject({ code: 'plan_invalid' });
    expect(refused?.message).toContain(why);
  });

  it.each([['*:*:*'], ['network:*:*'], ['tool:call:*']])('that states the capability %s for one call', (stated) => {
    const plan = compile({
      a: { type: 'tool', tool: 'get', arguments: { host: { $from: '/input' } }, capabilities: [stated] },
    });
    const found = thrown(() => {
      const { own } = closureOf('p', plan, tools, () => undefined);
      // What is not refused here must be held by who starts the plan, as it is written.
      expect([...own.keys()]).toContain(stated);
    });
    if (found !== null) expect(found.code).toBe('plan_invalid');
  });
});

describe('a plan fails', () => {
  const run = (nodes: object, input: JsonValue = null) => nextTurn(compile(nodes), input, []);
  const loop = (nodes: object) => ({ type: 'loop', until: 'index == 999', most: 1000, nodes });

  it('whose loops go round without a call', () => {
    expect(thrown(() => run(inside(3, loop)))).toMatchObject({
      code: 'plan_failed',
      message: expect.stringContaining('take more than 67108864'),
    });
  });

  it('whose maps go round without a call', () => {
    const over = Array.from({ length: 1000 }, () => 0);
    const each = (nodes: object) => ({ type: 'map', over: { $from: '/input' }, most: 1000, nodes });
    expect(thrown(() => run(inside(3, each), over))).toMatchObject({
      code: 'plan_failed',
      message: expect.stringContaining('take more than 67108864'),
    });
  });

  it('whose calls fan out beyond a bound, before it makes any', () => {
    const over = Array.from({ length: 1000 }, () => 0);
    const each = (nodes: object) => ({ type: 'map', over: { $from: '/input' }, most: 1000, nodes });
    expect(thrown(() => run({ a: each({ b: each({ c: each({ d: read() }) }) }) }, over))).toMatchObject({
      code: 'plan_failed',
      message: expect.stringContaining('take more than 67108864'),
    });
  });

  it('but not one of a hundred thousand calls', () => {
    const over = Array.from({ length: 1000 }, () => 0);
    const each = (most: number, nodes: object) => ({
      type: 'map',
      over: { $from: most === 1000 ? '/input' : '/nodes/few' },
      most,
      nodes,
    });
    const few = read();
    const first = Array.from({ length: 100 }, () => 0);
    const made = [{ node: 'few', tool: 'read', result: { type: 'output' as const, output: first } }];
    const turn = nextTurn(compile({ few, a: each(1000, { b: each(100, { d: read() }) }) }), over, made);
    expect(turn).toMatchObject({ type: 'calls', calls: expect.objectContaining({ length: 50 }) });
  });
});

describe('a template reads nothing that is not there', () => {
  const scope = { input: { list: [1, 2], text: 'abc' }, nodes: { a: JSON.parse('{"__proto__": {"own": 1}}') } };
  it.each([
    ['/input/__proto__'],
    ['/input/constructor/name'],
    ['/input/list/length'],
    ['/input/list/-1'],
    ['/input/list/01'],
    ['/input/list/1e0'],
    ['/input/list/99999999999'],
    ['/input/text/0'],
    ['/input/text/length'],
    ['/toString'],
  ])('%s', (pointer) => {
    expect(thrown(() => fillTemplate({ $from: pointer }, scope))).toMatchObject({ code: 'plan_failed' });
  });

  it('a member called __proto__ is one like any other', () => {
    expect(fillTemplate({ $from: '/nodes/a/__proto__/own' }, scope)).toBe(1);
    const made = fillTemplate(JSON.parse('{"__proto__": {"polluted": true}, "x": {"$cel": "nodes.a"}}'), scope);
    expect(Object.keys(made as object)).toEqual(['__proto__', 'x']);
    expect(Object.hasOwn((made as { x: object }).x, '__proto__')).toBe(true);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});
