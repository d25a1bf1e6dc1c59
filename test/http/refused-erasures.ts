import type { Refused } from './refused-requests.js';

const ANN = { subject: 'ann', reason: 'asked for' };

export const ERASURES: readonly Refused[] = [
  ['by an approver', 'anna POST erasures', ANN, 'forbidden'],
  ['of no one', 'adam POST erasures', {}, 'invalid_request /subject /reason'],
  ['without a reason', 'adam POST erasures', { ...ANN, reason: ' ' }, 'invalid_request /reason'],
  ['of a subject with a NUL', 'adam POST erasures', { ...ANN, subject: 'a\u0000' }, 'invalid_request /subject'],
  ['of a subject without end', 'adam POST erasures', { ...ANN, subject: 'x'.repeat(201) }, 'invalid_request /subject'],
  ['with fields that are not known', 'adam POST erasures', { ...ANN, family: true }, 'invalid_request /family'],
  ['that is none', 'vera GET erasures/era_x', undefined, 'erasure_unknown'],
  ['of what is no id', 'vera GET erasures/a%20b', undefined, 'invalid_request /path/id'],
  ['in a list', 'vera GET erasures', undefined, 'method_not_allowed'],
  ['of a run that starts about too many', 'otto POST runs', about(21), 'invalid_request /subjects'],
  ['of a run that starts about no one', 'otto POST runs', about(0), 'invalid_request /subjects'],
];

function about(many: number): unknown {
  return { agent: 'payer', input: 'go', subjects: Array.from({ length: many }, (_, n) => `s${n}`) };
}
