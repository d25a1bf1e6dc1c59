import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { JsonValue } from '../../../src/core/json.js';
import { compilePlan } from '../../../src/core/plans/compile-plan.js';
import { type MadeCall, type NodeResult, nextTurn } from '../../../src/core/plans/next-turn.js';
import { defineTool, toolSpecOf } from '../../../src/tools/define/define-tool.js';

const toolOf = (name: string) =>
  defineTool({
    ...{ name, description: 'Does it.', input: z.object({ v: z.union([z.string(), z.number()]) }), output: z.json() },
    execute: ({ v }) => v,
  });
const tools = new Map(['do', 'take_back'].map((name) => [name, toolSpecOf(toolOf(name))]));

type Answer = (node: string, given: JsonValue) => NodeResult;
const output = (value: JsonValue): NodeResult => ({ type: 'output', output: value });
const failed = (code = 'tool_failed'): NodeResult => ({ type: 'error', code, message: `it ${code}` });
const echo: Answer = (_node, given) => output((given as { v?: JsonValue }).v ?? null);

/** Carries a plan out by answering its calls, and gives the turns and the end. */
function carryOut(plan: unknown, answer: Answer = echo, input: JsonValue = '', overAfter = Number.POSITIVE_INFINITY) {
  const compiled = compilePlan('p', plan, tools);
  const made: MadeCall[] = [];
  const turns: string[][] = [];
  for (;;) {
    let next: ReturnType<typeof nextTurn>;
    try {
      next = nextTurn(compiled, input, made, turns.length < overAfter ? null : 'Its time is over.');
    } catch (error) {
      return { turns, error: error instanceof Error ? error.message : String(error) };
    }
    if (next.type === 'output') return { turns, output: next.output };
    turns.push(next.calls.map(({ node }) => node));
    const { timeOver } = next;
    for (const { node, tool, arguments: given } of next.calls)
      made.push({ node, tool, result: answer(node, given), timeOver });
  }
}

const call = (v: JsonValue = 1, more: object = {}) => ({ type: 'tool', tool: 'do', arguments: { v }, ...more });
const undo = { tool: 'take_back', arguments: { v: { $from: '/nodes/a' } } };

describe('plans with nodes inside of nodes', () => {
  it('carry out groups at once', () => {
    const nodes = {
      both: {
        type: 'parallel',
        nodes: { x: call(1), y: call(2) },
        output: [{ $from: '/nodes/x' }, { $from: '/nodes/y' }],
      },
      sum: call({ $cel: 'nodes.both[0] + nodes.both[1]' }),
    };
    expect(carryOut({ nodes })).toEqual({ turns: [['both.x', 'both.y'], ['sum']], output: { sum: 3 } });
  });

  it('fail where their values grow without end, and undo what was done', () => {
    const grown = (from: string) => ({
      ...{ type: 'parallel', nodes: { x: call(1) } },
      output: { $text: Array.from({ length: 10 }, () => ({ $from: from })) },
    });
    const levels = Object.fromEntries(
      Array.from({ length: 9 }, (_, n) => [`level${n}`, grown(n === 0 ? '/input' : `/nodes/level${n - 1}`)]),
    );
    const { turns, error } = carryOut({ nodes: { a: call(1, { undo }), ...levels } }, echo, 'x'.repeat(1000));
    expect(error).toContain('take more than 67108864 characters together');
    expect(turns.at(-1)).toEqual(['a~undo']);
  });

  it('map a list, so many of it at once', () => {
    const each = {
      type: 'map',
      over: { $from: '/input' },
      atOnce: 2,
      nodes: { twice: call({ $cel: 'item * 2 + index' }) },
    };
    const plan = { input: { type: 'array' }, nodes: { each }, output: { $from: '/nodes/each' } };
    expect(carryOut(plan, echo, [1, 2, 3])).toEqual({
      turns: [['each.0.twice', 'each.1.twice'], ['each.2.twice']],
      output: [{ twice: 2 }, { twice: 5 }, { twice: 8 }],
    });
    expect(carryOut({ nodes: { each: { ...each, most: 2 } } }, echo, [1, 2, 3]).error).toBe(
      'The node each failed: over has 3 items; the map takes 2 (most).',
    );
    expect(carryOut({ nodes: { each } }, echo, 'text').error).toBe('The node each failed: over is no list.');
    expect(carryOut({ nodes: { each } }, echo, [])).toEqual({ turns: [], output: { each: [] } });
  });

  it('take the first case that is met, and no other', () => {
    const branch = {
      ...{ type: 'branch', else: { nodes: { small: call('small') } } },
      cases: [
        { when: 'size(input) > 3', nodes: { large: call('large') } },
        { when: 'size(input) > 2', nodes: { medium: call('medium') } },
      ],
    };
    const way = (input: string) => carryOut({ nodes: { branch } }, echo, input);
    expect(way('abcd')).toEqual({ turns: [['branch.0.large']], output: { branch: { large: 'large' } } });
    expect(way('abc').turns).toEqual([['branch.1.medium']]);
    expect(way('a').turns).toEqual([['branch.2.small']]);
    const { else: _else, ...without } = branch;
    expect(carryOut({ nodes: { branch: without } })).toEqual({ turns: [], output: { branch: null } });
  });

  it('loop until an expression is true, with a bound', () => {
    const loop = (most: number) => ({
      ...{ type: 'loop', most, until: 'last >= 4' },
      ...{ nodes: { twice: call({ $cel: 'last == null ? 1 : last * 2' }) }, output: { $from: '/nodes/twice' } },
    });
    expect(carryOut({ nodes: { loop: loop(5) } })).toEqual({
      turns: [['loop.0.twice'], ['loop.1.twice'], ['loop.2.twice']],
      output: { loop: 4 },
    });
    expect(carryOut({ nodes: { loop: loop(2) } }).error).toBe(
      'The node loop failed: after 2 rounds (most), last >= 4 is not true.',
    );
  });

  it('fail where a condition is neither true nor false, and take no way then', () => {
    const branch = (when: string) => ({
      type: 'branch',
      cases: [{ when, nodes: { yes: call('yes') } }],
      else: { nodes: { no: call('no') } },
    });
    for (const [when, given] of [
      ['input', '"yes"'],
      ['size(input)', '3'],
      ['size(input) > 2 ? null : input', 'null'],
    ] as const)
      expect(carryOut({ nodes: { branch: branch(when) } }, echo, 'yes')).toMatchObject({
        turns: [],
        error: `The node branch failed: The expression ${when} gives ${given}, which is neither true nor false.`,
      });
    const loop = { type: 'loop', most: 3, until: 'last', nodes: { once: call('x') } };
    expect(carryOut({ nodes: { loop } }).error).toMatch(/^The node loop failed: The expression last gives .*neither/);
  });

  it('are refused where names or references are wrong', () => {
    const problemsOf = (nodes: object) => {
      const { error } = (() => {
        try {
          compilePlan('p', { nodes }, tools);
        } catch (thrown) {
          return { error: thrown as { readonly fields: readonly { pointer: string; detail: string }[] } };
        }
        throw new Error('it was taken');
      })();
      return error.fields.map(({ pointer, detail }) => `${pointer} ${detail}`);
    };
    const group = (inner: object) => ({ type: 'parallel', nodes: inner });
    expect(problemsOf({ a: call(), g: group({ a: call() }) })).toEqual([
      '/nodes/g/nodes/a a node around it has this name; expected another one',
    ]);
    expect(problemsOf({ g: group({ x: call() }), a: call({ $from: '/nodes/x' }) })).toEqual([
      '/nodes/a/arguments/v/$from there is no node x',
    ]);
    expect(problemsOf({ a: call({ $from: '/item' }) })).toEqual([
      '/nodes/a/arguments/v/$from /item begins with none of /input, /nodes',
    ]);
    expect(problemsOf({ a: call({ $from: '/nodes/g' }), g: group({ x: call({ $cel: 'nodes.a' }) }) })).toEqual([
      '/nodes/a the nodes need one another: a needs g needs a',
    ]);
    expect(problemsOf({ l: { type: 'loop', most: 2, until: 'item', nodes: { x: call() } } })).toEqual([
      '/nodes/l/until /item begins with none of /input, /index, /last, /nodes',
    ]);
  });
});

describe('nodes that fail', () => {
  const flaky = (good: number, code?: string): Answer => {
    let tries = 0;
    return (node, given) => (node.includes('~wait') ? output(null) : ++tries < good ? failed(code) : echo(node, given));
  };

  it('are tried again, after waits that grow', () => {
    const nodes = { a: call(7, { retry: { attempts: 3, firstSeconds: 2 } }) };
    expect(carryOut({ nodes }, flaky(3))).toEqual({
      turns: [['a'], ['a~wait1'], ['a~2'], ['a~wait2'], ['a~3']],
      output: { a: 7 },
    });
    expect(carryOut({ nodes }, flaky(4)).error).toBe(
      'The node a (do) failed at the try 3 with tool_failed: it tool_failed',
    );
    expect(carryOut({ nodes: { a: call(7, { retry: { attempts: 2, firstSeconds: 0 } }) } }, flaky(2)).turns).toEqual([
      ['a'],
      ['a~2'],
    ]);
  });

  it('are not tried again where they were refused', () => {
    expect(carryOut({ nodes: { a: call(7, { retry: { attempts: 3 } }) } }, flaky(2, 'denied')).turns).toEqual([['a']]);
  });

  it('have what was done undone, the last first, each once', () => {
    const given: JsonValue[] = [];
    const nodes = {
      a: call('A', { undo }),
      each: {
        ...{ type: 'map', over: ['x', 'y'], after: ['a'] },
        nodes: {
          b: call({ $from: '/item' }, { undo: { tool: 'take_back', arguments: { v: { $from: '/nodes/b' } } } }),
        },
      },
      c: call('C', { after: ['each'] }),
      d: call('D', { after: ['c'], undo }),
    };
    const answer: Answer = (node, args) => {
      if (node.endsWith('~undo')) given.push((args as { v: JsonValue }).v);
      return node === 'c' ? failed() : echo(node, args);
    };
    expect(carryOut({ nodes }, answer)).toEqual({
      turns: [['a'], ['each.0.b', 'each.1.b'], ['c'], ['each.1.b~undo'], ['each.0.b~undo'], ['a~undo']],
      error: 'The node c (do) failed with tool_failed: it tool_failed',
    });
    expect(given).toEqual(['y', 'x', 'A']);
  });

  it('begin no node when their time is over, undo what was done and end by that limit', () => {
    const nodes = { a: call('A', { undo }), b: call('B', { after: ['a'], undo }), c: call('C', { after: ['b'] }) };
    const error = 'Its time is over.';
    const undone = ['b~undo'];
    expect(carryOut({ nodes }, echo, '', 2)).toEqual({ turns: [['a'], ['b'], undone, ['a~undo']], error });
    // A node that fails because nothing waits for it any more changes nothing of that.
    const late: Answer = (node, args) => (node === 'c' ? failed('expired') : echo(node, args));
    expect(carryOut({ nodes }, late, '', 3)).toEqual({ turns: [['a'], ['b'], ['c'], undone, ['a~undo']], error });
    const notUndone: Answer = (node, args) => (node === 'b~undo' ? failed() : echo(node, args));
    expect(carryOut({ nodes }, notUndone, '', 2).error).toBe(`${error} Not undone: b (take_back): it tool_failed`);
    expect(carryOut({ nodes }, echo, '', 0)).toEqual({ turns: [], error });
    // What ended too late is undone too.
    const all = [['a'], ['b'], ['c'], undone, ['a~undo']];
    expect(carryOut({ nodes }, echo, '', 3)).toEqual({ turns: all, error });
  });

  it('end by what they undo for already', () => {
    const nodes = { a: call('A', { undo }), c: call('C', { after: ['a'] }) };
    const answer: Answer = (node, args) => (node === 'c' ? failed() : echo(node, args));
    expect(carryOut({ nodes }, answer, '', 3)).toEqual({
      turns: [['a'], ['c'], ['a~undo']],
      error: 'The node c (do) failed with tool_failed: it tool_failed',
    });
  });

  it('say what could not be undone, and undo the rest', () => {
    const nodes = { a: call('A', { undo }), b: call('B', { after: ['a'], undo }), c: call('C', { after: ['b'] }) };
    const answer: Answer = (node, args) => (node === 'c' || node === 'b~undo' ? failed() : echo(node, args));
    expect(carryOut({ nodes }, answer)).toEqual({
      turns: [['a'], ['b'], ['c'], ['b~undo'], ['a~undo']],
      error: 'The node c (do) failed with tool_failed: it tool_failed Not undone: b (take_back): it tool_failed',
    });
  });
});
