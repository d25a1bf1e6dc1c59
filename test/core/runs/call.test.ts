import { describe, expect, it } from 'vitest';
import type { CallOutcome } from '../../../src/core/log/call-outcome.js';
import { type CallFacts, callDigest, judgeCall, unknownEffectText } from '../../../src/core/runs/call.js';

const DONE: CallOutcome = { type: 'output', output: 1 };
const facts = (changes: Partial<CallFacts>): CallFacts => ({
  effect: 'unsafe',
  record: null,
  execution: 'now',
  mayRepeat: false,
  settled: false,
  ...changes,
});
const record = (changes: Partial<NonNullable<CallFacts['record']>>) => ({
  execution: 'before',
  outcome: null,
  waits: false,
  ...changes,
});

describe('judgeCall', () => {
  it.each(['pure', 'idempotent', 'unsafe'] as const)('executes a new %s call', (effect) => {
    expect(judgeCall(facts({ effect }))).toBe('execute');
  });

  it.each(['pure', 'idempotent', 'unsafe'] as const)('takes the recorded outcome of a %s call', (effect) => {
    for (const mayRepeat of [true, false])
      for (const waits of [true, false])
        expect(judgeCall(facts({ effect, mayRepeat, record: record({ outcome: DONE, waits }) }))).toBe('known');
  });

  it('keeps a call waiting until its wait is settled', () => {
    expect(judgeCall(facts({ record: record({ waits: true }) }))).toBe('waits');
    expect(judgeCall(facts({ record: record({ waits: true }), settled: true }))).toBe('execute');
  });

  it.each([
    ['pure', 'before', false, 'execute'],
    ['idempotent', 'before', false, 'execute'],
    ['unsafe', 'now', false, 'execute'],
    ['unsafe', 'before', true, 'execute'],
    ['unsafe', 'before', false, 'unknown'],
  ] as const)(
    'judges a %s call that execution "%s" began (may repeat: %s) as %s',
    (effect, execution, mayRepeat, is) => {
      expect(judgeCall(facts({ effect, mayRepeat, record: record({ execution }) }))).toBe(is);
    },
  );

  it('does not take a settled wait of another kind for permission to repeat an unsafe call', () => {
    expect(judgeCall(facts({ settled: true, record: record({}) }))).toBe('unknown');
  });
});

describe('callDigest', () => {
  const call = {
    runId: 'run_1',
    callId: 'c',
    tool: 'pay',
    toolVersion: '1',
    arguments: { a: 1, b: [2] },
    policyVersion: 'p',
  };

  it('changes with each part of the call', () => {
    const changed = [
      { runId: 'run_2' },
      { callId: 'd' },
      { tool: 'pay2' },
      { toolVersion: '2' },
      { arguments: { a: 1, b: [3] } },
      { arguments: { a: 1 } },
      { arguments: null },
      { policyVersion: 'q' },
    ].map((change) => callDigest({ ...call, ...change }));
    expect(new Set([callDigest(call), ...changed]).size).toBe(changed.length + 1);
  });

  it('ignores the order of members', () => {
    expect(callDigest({ ...call, arguments: { b: [2], a: 1 } })).toBe(callDigest(call));
  });

  it('does not confuse parts that are moved from one field to the next', () => {
    expect(callDigest({ ...call, tool: 'pa', toolVersion: 'y1' })).not.toBe(callDigest(call));
  });
});

describe('unknownEffectText', () => {
  it('says what happened and the three ways to decide', () => {
    const text = unknownEffectText('pay', 'crash');
    expect(text).toMatch(/^pay was begun, then its process died/);
    for (const word of ['Approve', 'answer', 'reject']) expect(text).toContain(word);
  });

  it('bounds what the tool said, and never cuts a character in half', () => {
    const text = unknownEffectText('pay', 'threw', `${'x'.repeat(999)}😀${'y'.repeat(5000)}`);
    expect(text.length).toBeLessThan(1300);
    expect(text.isWellFormed()).toBe(true);
  });
});
