import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HoldfastError } from '../../../src/core/errors/errors.js';
import { closureOf } from '../../../src/core/plans/closure.js';
import { compilePlan } from '../../../src/core/plans/compile-plan.js';
import { nextTurn } from '../../../src/core/plans/next-turn.js';
import { specsOf, toolsOfNodes } from '../../../src/engine/plans/define-plan.js';
import { defineTool, toolSpecOf } from '../../../src/tools/define/define-tool.js';

const read = defineTool({
  ...{ name: 'read', description: 'Reads.', input: z.object({ id: z.string() }), output: z.string() },
  execute: ({ id }) => id,
});
const get = defineTool({
  ...{ name: 'get', description: 'Gets.', input: z.object({ host: z.string() }), output: z.string() },
  capabilities: ({ host }) => [`network:http:get https://${host}/`],
  execute: ({ host }) => host,
});
const either = defineTool({
  ...{ name: 'either', description: 'Gets.', input: z.object({ urgent: z.boolean().optional() }), output: z.string() },
  capabilities: (input) => ['urgent' in input ? 'queue:jump:all' : `queue:join:${Object.keys(input).length}`],
  execute: () => 'got',
});
const tools = new Map([read, get, either].map((tool) => [tool.name, toolSpecOf(tool)]));

const compile = (plan: unknown) => compilePlan('p', plan, tools);
const problemsOf = (work: () => unknown): readonly string[] => {
  try {
    work();
  } catch (error) {
    if (error instanceof HoldfastError && error.code === 'plan_invalid')
      return error.fields.map(({ pointer, detail }) => `${pointer} ${detail}`);
    throw error;
  }
  return [];
};
const node = (after: readonly string[] = [], id: unknown = 'x') => ({
  type: 'tool',
  tool: 'read',
  after,
  arguments: { id },
});

describe('compilePlan', () => {
  it('names every place that is wrong', () => {
    const nodes = {
      a: node(['gone'], { $from: '/nodes/nowhere' }),
      b: { type: 'tool', tool: 'red' },
      c: node([], { $from: 'nodes/a' }),
      d: node([], { $frm: '/input' }),
      e: node([], 5),
      f: node([], { $from: '/input', default: 'x' }),
    };
    expect(problemsOf(() => compile({ nodes, output: { $from: '/node/a' } }))).toEqual([
      '/nodes/a/after/0 there is no node gone',
      '/nodes/a/arguments/id/$from there is no node nowhere',
      '/nodes/b/tool there is no tool red; the plan has: read, get, either',
      '/nodes/c/arguments/id/$from "nodes/a" is no JSON Pointer; expected one such as /input or /nodes/first',
      '/nodes/d/arguments/id/$frm expected one of $from, $text, $cel, $value; write a value with such a name as { "$value": … }',
      expect.stringContaining('/nodes/e/arguments The arguments of read are not valid.'),
      '/nodes/f/arguments/id/$from expected nothing beside $from; write a value with such a name as { "$value": … }',
      '/output/$from /node/a begins with none of /input, /nodes',
    ]);
    expect(problemsOf(() => compile({ nodes: {} }))).toEqual(['/nodes expected at least one node']);
    expect(problemsOf(() => compile({ nodes: { a: { type: 'walk' } } }))).toEqual([
      expect.stringContaining('/nodes/a/type'),
    ]);
    expect(
      problemsOf(() => compile({ nodes: { a: { type: 'ask', question: 'x', schema: { pattern: '(a+)+' } } } })),
    ).toEqual(['/nodes/a/schema its schema uses pattern, which is not taken']);
  });

  it('refuses fields that would do nothing, and waits that are too long', () => {
    const refused = (node: object) => problemsOf(() => compile({ nodes: { a: node } }));
    const beside = (what: string) => [`/nodes/a expected ${what}`];
    expect(refused({ type: 'ask', approval: 'x', choices: ['a'] })).toEqual(
      beside('choices and schema beside a question alone'),
    );
    expect(refused({ type: 'ask', approval: 'x', schema: {} })).toEqual(
      beside('choices and schema beside a question alone'),
    );
    expect(refused({ type: 'ask', question: 'x', approvals: 2 })).toEqual(beside('approvals beside an approval alone'));
    for (const more of [{ key: 'k' }, { timeoutSeconds: 2 }])
      expect(refused({ type: 'wait', seconds: 1, ...more })).toEqual(
        beside('key and timeoutSeconds beside an event alone'),
      );
    expect(refused({ type: 'wait', seconds: 2_592_001 })).toEqual(beside('at most 2592000 seconds'));
    expect(refused({ type: 'wait', event: 'paid', timeoutSeconds: 2_592_001 })).toEqual([
      expect.stringContaining('/nodes/a/timeoutSeconds'),
    ]);
    expect(refused({ type: 'wait', seconds: 2_592_000 })).toEqual([]);
  });

  it('tells agents apart by their tools, and refuses two that have the same', () => {
    const run = (agent: string) => ({ type: 'agent', agent, input: 'go' });
    expect(problemsOf(() => compile({ nodes: { a: run('Pay Bot'), b: run('pay-bot'), c: run('Pay Bot') } }))).toEqual([
      '/nodes/b/agent pay-bot and Pay Bot have one tool, run_pay_bot; expected agents with other names',
    ]);
    const { calls } = compile({ nodes: { a: run('会計'), b: run('秘書'), c: run('writer') } });
    expect(new Set(calls.map(({ tool }) => tool)).size).toBe(3);
    expect(calls[2]?.tool).toBe('run_writer');
  });

  it('names a cycle, also one by references', () => {
    const nodes = { a: node(), b: node(['a', 'd']), c: node([], { $from: '/nodes/b' }), d: node(['c']) };
    expect(problemsOf(() => compile({ nodes }))).toEqual([
      '/nodes/b the nodes need one another: b needs d needs c needs b',
    ]);
    expect(problemsOf(() => compile({ nodes: { a: node(['a']) } }))).toEqual([
      '/nodes/a the nodes need one another: a needs a',
    ]);
  });

  it('says everything that a plan can need', () => {
    const constant = { type: 'tool', tool: 'get', arguments: { host: 'a.example' } };
    const given = { type: 'tool', tool: 'get', arguments: { host: { $from: '/input' } } };
    const close = (nodes: object) => {
      const { own } = closureOf('p', compile({ nodes }), tools, () => undefined);
      return [...own].map(([capability, calls]) => [capability, calls.map(({ path }) => path)]);
    };
    expect(
      close({ a: node(), b: constant, c: { ...given, capabilities: ['network:http:get https://*.a.example/**'] } }),
    ).toEqual([
      ['tool:call:read', ['a']],
      ['network:http:get https://a.example/', ['b']],
      ['network:http:get https://*.a.example/**', ['c']],
    ]);
    expect(problemsOf(() => close({ a: given }))).toEqual([
      '/nodes/a/capabilities get computes from its arguments what it needs; state here what that is at most',
    ]);
    // A tool that looks at the names of its arguments alone computes from them, too.
    expect(problemsOf(() => close({ a: { ...given, tool: 'either', arguments: { $from: '/input' } } }))).toEqual([
      expect.stringContaining('/nodes/a/capabilities either computes from its arguments'),
    ]);
    expect(problemsOf(() => close({ a: { ...given, capabilities: ['all'] } }))).toEqual([
      expect.stringContaining('/nodes/a/capabilities/0'),
    ]);
  });
});

it.each([
  ['a time before now', { type: 'wait', seconds: -1 }, 'seconds'],
  ['a time that is none', { type: 'wait', until: 'soon' }, 'until'],
  ['an event with a key that is none', { type: 'wait', event: 'paid', key: 'a b' }, 'key'],
  ['a question without words', { type: 'ask', question: '' }, 'question'],
  ['an approval of nothing', { type: 'ask', approval: '' }, 'what'],
  ['an agent that is told nothing', { type: 'agent', agent: 'writer', input: '' }, 'input'],
])('a plan that always fails is refused: %s', (_what, constant, field) => {
  const plan = compile({ nodes: { a: constant } });
  const brought = new Map([...tools, ...specsOf(toolsOfNodes(plan))]);
  expect(problemsOf(() => closureOf('p', plan, brought, () => []))).toEqual([
    expect.stringMatching(new RegExp(`^/nodes/a The arguments of \\w+ are not valid\\..*${field}`)),
  ]);
});

describe('nextTurn', () => {
  const nodes = { a: node(), b: node(), c: node([], { $text: [{ $from: '/nodes/a/0' }, '-', { $from: '/nodes/b' }] }) };
  const plan = compile({ nodes, atOnce: 2 });
  const done = (id: string, output: string | readonly string[]) =>
    ({ node: id, tool: 'read', result: { type: 'output', output } }) as const;

  it('gives the nodes whose needs have ended, in the order of the plan, and the output in the end', () => {
    expect(nextTurn(plan, '', [])).toMatchObject({ type: 'calls', calls: [{ node: 'a' }, { node: 'b' }] });
    const made = [done('b', 'B'), done('a', ['A'])];
    expect(nextTurn(plan, '', made)).toEqual({
      ...{ type: 'calls', calls: [{ node: 'c', tool: 'read', arguments: { id: 'A-B' } }] },
    });
    expect(nextTurn(plan, '', [...made, done('c', 'C')])).toEqual({ type: 'output', output: { c: 'C' } });
  });

  it('fails by name for what is not there, and for calls of another plan', () => {
    expect(() => nextTurn(plan, '', [done('a', 'text'), done('b', 'B')])).toThrow(
      'The node c failed: /nodes/a/0 finds nothing: there is no "0".',
    );
    expect(() => nextTurn(plan, '', [done('z', 'Z')])).toThrow('the plan has no such call');
  });

  it('takes a node called constructor for nothing else', () => {
    const odd = compile({ nodes: { constructor: node(), a: node([], { $from: '/nodes/constructor' }) } });
    expect(nextTurn(odd, '', [])).toMatchObject({ calls: [{ node: 'constructor' }] });
  });
});
