import { describe, expect, it } from 'vitest';
import { type Choice, judgeDecision } from '../../../src/core/interruptions/decision.js';
import type { DecisionView, InterruptionView } from '../../../src/core/interruptions/interruption.js';

const CHOICE: Choice = { verdict: 'approve', message: null, value: null, arguments: null, always: null };
const choice = (changes: Partial<Choice> = {}): Choice => ({ ...CHOICE, ...changes });
const made = (actor: string, changes: Partial<DecisionView> = {}): DecisionView =>
  ({ actor, verdict: 'approve', message: null, value: null, edit: null, always: null, ...changes }) as DecisionView;
const waiting = (changes: Partial<InterruptionView> = {}): InterruptionView =>
  ({
    id: 'int_1',
    runId: 'run_1',
    kind: 'approval',
    status: 'pending',
    digest: 'd1',
    reason: { code: 'tool_rule', text: 'Pay?' },
    verdicts: ['approve', 'reject'],
    requiredApprovals: 1,
    decisions: [],
    expiresAt: '2026-01-01T00:00:00.000Z',
    wait: null,
    ...changes,
  }) as InterruptionView;
const judge = (it: InterruptionView, by: Choice, actor = 'ann', digest?: string) =>
  judgeDecision(it, digest, by, actor);
const refusal = (run: () => unknown): unknown => {
  try {
    return run();
  } catch (error) {
    return (error as { code: unknown }).code;
  }
};

describe('judgeDecision', () => {
  it.each([
    ['one approval of one needed', waiting(), choice(), 'settle'],
    ['a rejection', waiting({ requiredApprovals: 3 }), choice({ verdict: 'reject' }), 'settle'],
    ['the first approval of two needed', waiting({ requiredApprovals: 2 }), choice(), 'vote'],
    ['the second of two', waiting({ requiredApprovals: 2, decisions: [made('bob')] }), choice(), 'settle'],
    ['a repeated approval', waiting({ requiredApprovals: 2, decisions: [made('ann')] }), choice(), 'same'],
    ['the same approval after it settled', waiting({ status: 'approved', decisions: [made('ann')] }), choice(), 'same'],
  ] as const)('judges %s', (_, it, by, expected) => {
    expect(judge(it, by)).toBe(expected);
  });

  it.each([
    ['the digest is another one', waiting(), choice(), 'd2', 'digest_mismatch'],
    [
      'the verdict is not offered',
      waiting(),
      choice({ verdict: 'answer', value: 1 }),
      undefined,
      'verdict_not_allowed',
    ],
    ['no person decides it', waiting({ verdicts: [] }), choice(), undefined, 'verdict_not_allowed'],
    ['it expired', waiting({ status: 'expired' }), choice(), undefined, 'interruption_expired'],
    ['its run was cancelled', waiting({ status: 'cancelled' }), choice(), undefined, 'interruption_cancelled'],
    [
      'another person settled it',
      waiting({ status: 'approved', decisions: [made('bob')] }),
      choice(),
      undefined,
      'decision_conflict',
    ],
    [
      'the actor decided otherwise',
      waiting({ status: 'approved', decisions: [made('ann')] }),
      choice({ verdict: 'reject' }),
      undefined,
      'decision_conflict',
    ],
    [
      'the actor approved with another message',
      waiting({ requiredApprovals: 2, decisions: [made('ann')] }),
      choice({ message: 'x' }),
      undefined,
      'decision_conflict',
    ],
    [
      'the first approver approved other arguments',
      waiting({ requiredApprovals: 2, decisions: [made('bob')] }),
      choice({ arguments: { a: 1 } }),
      undefined,
      'decision_conflict',
    ],
    [
      'the first approver made no standing decision',
      waiting({ requiredApprovals: 2, decisions: [made('bob')] }),
      choice({ always: true }),
      undefined,
      'decision_conflict',
    ],
    [
      'the call may have happened and is edited',
      waiting({ reason: { code: 'unknown_effect', text: '?' } }),
      choice({ arguments: {} }),
      undefined,
      'plain_approval_only',
    ],
    [
      'the call may have happened and is approved forever',
      waiting({ reason: { code: 'unknown_effect', text: '?' } }),
      choice({ always: true }),
      undefined,
      'plain_approval_only',
    ],
  ] as const)('refuses when %s', (_, it, by, digest, code) => {
    expect(refusal(() => judge(it, by, 'ann', digest))).toBe(code);
  });

  it('checks the digest before it tells anything else of the interruption', () => {
    expect(refusal(() => judge(waiting({ status: 'expired' }), choice(), 'ann', 'd2'))).toBe('digest_mismatch');
  });

  it('lets an approver of two take the approval back by a rejection', () => {
    const it = waiting({ requiredApprovals: 2, decisions: [made('ann')] });
    expect(judge(it, choice({ verdict: 'reject' }))).toBe('settle');
  });

  it('counts no person twice, however many approvals are needed', () => {
    const it = waiting({ requiredApprovals: 3, decisions: [made('ann'), made('bob')] });
    expect(judge(it, choice(), 'ann')).toBe('same');
    expect(judge(it, choice(), 'bob')).toBe('same');
    expect(judge(it, choice(), 'eve')).toBe('settle');
  });

  const budget = waiting({
    kind: 'budget',
    reason: { code: 'budget', text: 'More?' },
    wait: {
      kind: 'budget',
      scope: 'run',
      name: '',
      day: null,
      limitUsd: '1',
      spentUsd: '1',
      neededUsd: '0.25',
    },
  } as unknown as Partial<InterruptionView>);

  it('takes a raised budget from the least limit that has room', () => {
    expect(judge(budget, choice({ value: { limitUsd: '1.25' } }))).toBe('settle');
  });

  it.each([
    ['less than the least limit that has room', { limitUsd: '1.249999999' }, 'invalid_request'],
    ['no amount', null, 'invalid_request'],
    ['another member', { usd: '5' }, 'invalid_request'],
  ] as const)('refuses a raised budget that is %s', (_, value, code) => {
    expect(refusal(() => judge(budget, choice({ value })))).toBe(code);
  });
});
