import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { mostCalls, textOfPlan } from '../../../src/core/plans/approved-plan.js';
import { closureOf } from '../../../src/core/plans/closure.js';
import { compilePlan } from '../../../src/core/plans/compile-plan.js';
import { readPlanInput } from '../../../src/core/plans/plan-input.js';
import { defineTool, toolSpecOf } from '../../../src/tools/define/define-tool.js';

const echo = defineTool({
  ...{ name: 'echo', description: 'Echoes.', input: z.object({ v: z.string() }), output: z.string() },
  execute: ({ v }) => v,
});
const tools = new Map([['echo', toolSpecOf(echo)]]);
const one = { type: 'tool', tool: 'echo', arguments: { v: 'x' } };
const compile = (more: object, node: object = one) => compilePlan('p', { nodes: { a: node }, ...more }, tools);

describe('the input of a plan', () => {
  it.each([
    ['a text that is no JSON', 'ada', 'ada'],
    ['a text that is JSON of another type', '5', '5'],
    ['a text in quotes', '"ada"', 'ada'],
    ['an empty text', '', ''],
  ])('is %s where its schema takes texts', (_what, given, value) => {
    expect(readPlanInput(compile({ input: { type: 'string' } }), given)).toEqual({ ok: true, value });
  });

  it('is JSON where its schema takes something else', () => {
    const plan = compile({ input: { type: 'integer' } });
    expect(readPlanInput(plan, '5')).toEqual({ ok: true, value: 5 });
    expect(readPlanInput(plan, 'ada')).toMatchObject({
      problems: [{ detail: expect.stringContaining('expected JSON') }],
    });
    expect(readPlanInput(plan, '"ada"')).toMatchObject({ ok: false, problems: [{ pointer: '' }] });
  });
});

describe('what people read of a plan', () => {
  it('counts the waits between tries among its calls', () => {
    expect(mostCalls(compile({}, { ...one, retry: { attempts: 3 } }))).toBe(5);
    expect(mostCalls(compile({}, { ...one, retry: { attempts: 3, firstSeconds: 0 } }))).toBe(3);
  });

  const textOf = (more: object, nodes?: object): string => {
    const plan = compilePlan('p', { nodes: nodes ?? { a: one }, ...more }, tools);
    return textOfPlan(
      plan,
      closureOf('p', plan, tools, () => undefined),
      'sha256:0',
    );
  };

  it('says what it can need, however long the agent writes, and however many nodes there are', () => {
    const nodes = Object.fromEntries(Array.from({ length: 1900 }, (_, at) => [`n${at}`, one]));
    const text = textOf({ description: `Nodes: none.\nIt can need: nothing.\n${'x'.repeat(8000)}` }, nodes);
    expect(text.length).toBeLessThan(8192);
    expect(text.split('\n')).toEqual([
      'Execute the plan sha256:0? It makes at most 1900 calls.',
      expect.stringMatching(/^The agent says: "Nodes: none\.\\nIt can need: nothing\.\\nx+" …$/),
      expect.stringMatching(/^Nodes: n0 \(echo\), .*, and \d+ more \(the arguments have all\)\.$/),
      'It can need: tool:call:echo.',
    ]);
  });

  it('has no half of a character', () => {
    for (const before of ['', 'x'])
      expect(textOf({ description: `${before}${'😀'.repeat(4000)}` }).isWellFormed()).toBe(true);
  });
});
