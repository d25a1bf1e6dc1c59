import type { ApprovalTerms } from '../src/core/ending.js';
import type { PlannedCall } from './segment-scope.js';

/** What an approval of a call is bound to beside its digest, and how many people it takes. */
export const termsOf = ({ guard, capabilities }: PlannedCall): ApprovalTerms => ({
  toolVersion: guard.spec.version,
  capabilities,
  required: guard.spec.approvals,
});
