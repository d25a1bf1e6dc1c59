import { LogCheck, type LoggedEvent } from '../../src/core/log/check-log.js';
import { type ClaimedEnd, endFault, reportOn, type VerifyReport } from '../../src/core/log/verify-log.js';

/** Verifies a log that is at hand. `claimed` is where the head of its run says that it ends. */
export function verifyLog(
  runId: string,
  tenant: string,
  events: Iterable<LoggedEvent>,
  runKey: string | null,
  { seq, hash, stateHash }: Pick<ClaimedEnd, 'seq' | 'hash' | 'stateHash'>,
): VerifyReport {
  const check = LogCheck.fromStart(runId, tenant, runKey);
  const payloads = runKey === null ? ('erased' as const) : ('checked' as const);
  const about = { payloads, states: { fit: 0, wrong: [] }, rows: [] };
  for (const event of events) {
    const wrong = check.next(event);
    if (wrong !== null) return reportOn(check, 1, wrong, about);
  }
  const claimed = { seq, hash, ...(stateHash === undefined ? {} : { stateHash }) };
  const end = endFault(check, claimed, false, runKey === null);
  return reportOn(check, 1, end && { seq: check.head.seq + 1, ...end }, about);
}
