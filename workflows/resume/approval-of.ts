import { isSeparate } from '../../src/core/interruptions/separation.js';
import type { ApprovalTerms } from '../../src/core/runs/ending.js';
import type { PlannedCall, SegmentScope } from '../segment-context.js';

/** What an approval of a call is bound to beside its digest, and how many people it takes. */
export const termsOf = ({ run }: SegmentScope, { guard, capabilities }: PlannedCall): ApprovalTerms => ({
  toolVersion: guard.spec.version,
  capabilities,
  required: guard.spec.approvals,
  separate: isSeparate([...run.separateRequester, guard.spec.separateRequester], guard.spec.approvals),
});
