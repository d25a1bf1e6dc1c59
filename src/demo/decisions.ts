import type { DecisionRequest, InterruptionView } from '../core/interruptions/interruption.js';
import type { PaymentLine } from './pay.js';

export const REJECTION = 'The invoice of the conference is missing. Hand it in, then ask again.';

/** Decides by rules: the first approval is given, the second refused, a question is answered from the payments file. */
export class Decisions {
  #approvals = 0;

  decide(
    one: InterruptionView,
    payments: readonly PaymentLine[],
  ): { readonly request: DecisionRequest; readonly why: string } {
    if (one.reason.code === 'unknown_effect') return answerFrom(one, payments);
    this.#approvals += 1;
    if (this.#approvals === 2) {
      return { request: { verdict: 'reject', message: REJECTION, digest: one.digest }, why: REJECTION };
    }
    return { request: { verdict: 'approve', digest: one.digest }, why: 'the first approval is given' };
  }
}

/** The file says whether it happened: then its line is the result, and otherwise the payment may be made. */
function answerFrom(one: InterruptionView, payments: readonly PaymentLine[]): ReturnType<Decisions['decide']> {
  const line = payments.find(({ callId }) => callId === one.callId);
  if (line === undefined) {
    const request = { verdict: 'approve', digest: one.digest } as const;
    return { request, why: 'the payments file has no such line: it did not happen, run it' };
  }
  const { callId: _ofUs, ...value } = line;
  const request = { verdict: 'answer', value, digest: one.digest } as const;
  return { request, why: 'the payments file has its line: it did happen, here is its result' };
}
