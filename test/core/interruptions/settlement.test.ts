import { describe, expect, it } from 'vitest';
import {
  outcomeOfSettlement,
  type Settlement,
  settlementOf,
  type WaitDecision,
} from '../../../src/core/interruptions/settlement.js';
import type { WaitSpec } from '../../../src/core/interruptions/wait.js';

const QUESTION: WaitSpec = { kind: 'question', text: 'Which?', choices: null, schema: null };
const TIMER: WaitSpec = { kind: 'timer', until: null, afterMs: 5 };
const EVENT: WaitSpec = { kind: 'event', name: 'invoice.paid', key: null };
const CHILD: WaitSpec = { kind: 'child_run', runId: 'run_2' };
const MEMO = { page: 3 };

const settled = (spec: WaitSpec, changes: Partial<WaitDecision> = {}): Settlement =>
  settlementOf(
    { wait: { ordinal: 1, spec }, verdict: 'answer', actor: 'ann', message: null, value: null, ...changes },
    MEMO,
  );

describe('settlementOf', () => {
  it.each([
    ['a question', QUESTION, { value: 'red' }, { type: 'answered', value: 'red', actor: 'ann', message: null }],
    ['a timer', TIMER, {}, { type: 'due' }],
    [
      'an event',
      EVENT,
      { value: { eventId: 'e1', payload: { cents: 5 } } },
      { type: 'event', name: 'invoice.paid', eventId: 'e1', payload: { cents: 5 } },
    ],
    [
      'a child run',
      CHILD,
      { value: { status: 'completed', output: 7 } },
      { type: 'child_ended', runId: 'run_2', result: { status: 'completed', output: 7 } },
    ],
  ] as const)('reads the answer to %s', (_, spec, changes, expected) => {
    expect(settled(spec, changes)).toEqual({ ...expected, memo: MEMO });
  });

  it.each([QUESTION, TIMER, EVENT, CHILD])('reads an expiry of a $kind, whatever value stands beside it', (spec) => {
    expect(settled(spec, { verdict: 'expire', value: { eventId: 'e', payload: 1 } })).toEqual({
      type: 'expired',
      memo: MEMO,
    });
  });

  it.each(['reject', 'cancel', 'approve'] as const)('never takes "%s" for an answer', (verdict) => {
    expect(settled(QUESTION, { verdict, value: 'red', message: 'no' })).toEqual({
      type: 'rejected',
      actor: 'ann',
      message: 'no',
      memo: MEMO,
    });
  });
});

describe('outcomeOfSettlement', () => {
  const outcome = (settlement: object, spec: WaitSpec = QUESTION) =>
    outcomeOfSettlement('ask', spec, { memo: null, ...settlement } as Settlement);

  it('gives what was answered, told or computed as the output', () => {
    expect(outcome({ type: 'answered', value: 'red', actor: 'ann', message: null })).toEqual({ output: 'red' });
    expect(outcome({ type: 'event', name: 'n', eventId: 'e', payload: null }, EVENT)).toEqual({ output: null });
    expect(outcome({ type: 'due' }, TIMER)).toEqual({ output: null });
    expect(
      outcome({ type: 'child_ended', runId: 'run_2', result: { status: 'completed', output: [] } }, CHILD),
    ).toEqual({ output: [] });
  });

  it.each([
    [
      'a rejection without a message',
      { type: 'rejected', actor: 'a', message: null },
      QUESTION,
      'rejected',
      /declined/,
    ],
    [
      'a rejection with a message',
      { type: 'rejected', actor: 'a', message: 'Not now' },
      QUESTION,
      'rejected',
      /^Not now$/,
    ],
    ['an expired question', { type: 'expired' }, QUESTION, 'expired', /no answer in time/],
    ['an expired event', { type: 'expired' }, EVENT, 'expired', /invoice\.paid/],
    [
      'a cancelled child',
      { type: 'child_ended', runId: 'run_2', result: { status: 'cancelled', reason: 'late' } },
      CHILD,
      'cancelled',
      /run_2 was cancelled: late/,
    ],
  ] as const)('refuses the call after %s', (_, settlement, spec, why, message) => {
    expect(outcome(settlement, spec)).toEqual({ type: 'refused', why, message: expect.stringMatching(message) });
  });

  it('passes on the code of a failed child', () => {
    const result = { status: 'failed', code: 'limit_turns', message: 'too long' };
    expect(outcome({ type: 'child_ended', runId: 'run_2', result }, CHILD)).toEqual({
      type: 'error',
      code: 'limit_turns',
      message: 'ask: the run run_2 failed: too long',
    });
  });
});
