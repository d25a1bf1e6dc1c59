import { isSeparate } from '../../src/core/interruptions/separation.js';
import type { ApprovalTerms } from '../../src/core/runs/ending.js';
import type { AuthorizedCall, SegmentContext } from '../segment-context.js';

/** What an approval of a call is bound to beside its digest, and how many people it takes. */
export const termsOf = ({ run }: SegmentContext, { wrapped, capabilities }: AuthorizedCall): ApprovalTerms => ({
  toolVersion: wrapped.spec.version,
  capabilities,
  required: wrapped.spec.approvals,
  separate: isSeparate([...run.separateRequester, wrapped.spec.separateRequester], wrapped.spec.approvals),
});
