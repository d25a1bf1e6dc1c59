import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { isApproved } from '../../../src/core/plans/approved-plan.js';
import { compilePlan } from '../../../src/core/plans/compile-plan.js';
import { defineTool, toolSpecOf } from '../../../src/tools/define/define-tool.js';

const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', input: z.object({ cents: z.int() }), output: z.json() },
  execute: () => null,
});
const tools = new Map([['pay', toolSpecOf(pay)]]);
const bounds = { type: 'object', properties: { cents: { maximum: 100 } } };
/** A call that is approved below 100 cents, and one that asks. */
const bounded = { type: 'tool', tool: 'pay', arguments: { cents: { $from: '/nodes/first/cents' } }, bounds };
const open = { type: 'tool', tool: 'pay', arguments: { cents: { $from: '/nodes/first/cents' } } };
const first = { type: 'tool', tool: 'pay', arguments: { cents: 1 } };

function approved(nodes: object, callId: string, cents: number, rebuilt: number | null = null): boolean {
  const plan = compilePlan('p', { nodes: { first, ...nodes } }, tools);
  return isApproved(plan, '', { callId, tool: 'pay', arguments: { cents }, rebuilt });
}

describe('an approved plan covers', () => {
  it('calls of its nodes, with the arguments of the plan or within their bounds', () => {
    expect(approved({}, 'first', 1)).toBe(true);
    expect(approved({}, 'first', 2)).toBe(false);
    expect(approved({ next: bounded }, 'next', 100)).toBe(true);
    expect(approved({ next: bounded }, 'next', 101)).toBe(false);
    expect(approved({ next: open }, 'next', 1)).toBe(false);
    expect(approved({ next: bounded }, 'else', 1)).toBe(false);
  });

  it('each round of a map, each try, and what a rebuilt segment calls otherwise', () => {
    const each = { type: 'map', over: [1, 2], nodes: { one: bounded } };
    expect(approved({ each }, 'each.1.one', 100)).toBe(true);
    expect(approved({ each }, 'each.1.one~2', 100)).toBe(true);
    expect(approved({ next: bounded }, 'next_s3', 100, 3)).toBe(true);
    expect(approved({ next: bounded }, 'next_s3', 100)).toBe(false);
  });

  it('no node by what was said of one with a similar name', () => {
    const nodes = { next: bounded, next_2: open, next_s3: open };
    for (const id of ['next_2', 'next_s3']) expect(approved(nodes, id, 1), id).toBe(false);
    const cases = [
      { when: 'size(input) > 1', nodes: { one: bounded } },
      { when: 'size(input) > 0', nodes: { one: open } },
    ];
    const judge = { type: 'branch', cases, else: { nodes: { one: open } } };
    expect(approved({ judge }, 'judge.0.one', 1)).toBe(true);
    for (const id of ['judge.1.one', 'judge.2.one']) expect(approved({ judge }, id, 1), id).toBe(false);
    const each = { type: 'map', over: [1, 2], nodes: { judge } };
    expect(approved({ each }, 'each.1.judge.0.one', 1)).toBe(true);
    expect(approved({ each }, 'each.0.judge.1.one', 1)).toBe(false);
  });
});
