import { describe, expect, it } from 'vitest';
import { registerAgents } from '../../../src/engine/agents/agent-registry.js';
import { definePlan } from '../../../src/index.js';

const grants = ['tool:call:*', 'time:sleep:timer'].map((capability) => ({
  ...{ capability, effect: 'allow' as const, delegate: true },
}));
/** A plan that runs others, one after the other. */
const plan = (name: string, ...others: readonly string[]) =>
  definePlan({
    ...{ name, grants },
    plan: {
      nodes: Object.fromEntries(others.map((agent, n) => [`n${n}`, { type: 'agent' as const, agent, input: 'go' }])),
    },
  });
const quiet = (name: string) => definePlan({ name, grants, plan: { nodes: { wait: { type: 'wait', seconds: 1 } } } });

const refusalOf = (...agents: readonly ReturnType<typeof plan>[]): object | null => {
  try {
    registerAgents({ agents });
    return null;
  } catch (error) {
    const { code, fields } = error as { code: string; fields: { pointer: string; detail: string }[] };
    return { code, ...fields[0] };
  }
};

describe('plans that run one another', () => {
  it('are refused at the start, with the way and the node', () => {
    expect(refusalOf(plan('a', 'c', 'b'), plan('b', 'a'), quiet('c'))).toEqual({
      code: 'plan_invalid',
      pointer: '/nodes/n1/agent',
      detail: 'plans run one another without an end: a runs b runs a. A `loop` repeats',
    });
  });

  it('are refused where one runs itself, and where others stand between', () => {
    expect(refusalOf(plan('a', 'a'))).toMatchObject({ code: 'plan_invalid', pointer: '/nodes/n0/agent' });
    const between = [plan('a', 'b'), plan('b', 'c'), plan('c', 'd'), plan('d', 'b', 'a')];
    expect(refusalOf(...between)).toMatchObject({ detail: expect.stringContaining('a runs b runs c runs d runs a') });
  });

  it('are taken where none leads back, also where two lead to one', () => {
    expect(refusalOf(plan('a', 'b', 'c'), plan('b', 'd'), plan('c', 'd'), quiet('d'))).toBeNull();
  });
});
