import type { Caller } from '../../core/caller.js';
import type { ConsistencyView, LogEntryView, LogReport } from '../../core/evidence/log-view.js';
import type { ProofBundle } from '../../core/evidence/proof.js';
import type { Page } from '../../core/page.js';
import type { UntilSignal } from '../concurrency/concurrency-limits.js';
import type { EngineContext } from '../engine-context.js';
import { checkpointNow, exportProof, getConsistency, getLog, listLogEntries } from './log-operations.js';
import { verifyWholeLog } from './verify-entries.js';

/** What clients ask of the log over all runs, and of proofs. */
export const LOG_OPERATIONS = {
  /** What proves the log of a run to others. Throws `run_unknown`, `run_not_anchored`, `log_broken`, `payload_too_large`, `rate_limited`. */
  exportProof: (
    context: EngineContext,
    id: string,
    options: UntilSignal & { readonly payloads: boolean },
    caller: Caller,
  ): Promise<ProofBundle> =>
    context.long.reading({ name: `proof ${id}`, caller, ...options }, (signal) =>
      exportProof(context, id, { payloads: options.payloads, signal }, caller),
    ),
  /** The log over all runs, and its newest signed checkpoint. */
  getLog,
  /** Enters what runs have done into that log, and signs it now. */
  checkpointNow,
  /** Entries from the index `after`, in order. Of other tenants the leaf alone. */
  listLogEntries: (
    context: EngineContext,
    options: { readonly after: number; readonly limit: number },
    caller: Caller,
  ): Promise<Page<LogEntryView>> => listLogEntries(context, options, caller),
  /** Throws `invalid_request` where the log has no such sizes, `log_broken`. */
  getConsistency: (
    context: EngineContext,
    sizes: { readonly earlier: number; readonly size: number },
  ): Promise<ConsistencyView> => getConsistency(context, sizes),
  /** Verifies the log over all runs. Of other tenants it names no run. Throws `rate_limited`. */
  verifyLog: (context: EngineContext, caller: Caller, options?: UntilSignal): Promise<LogReport> =>
    context.long.reading({ name: 'verify log', caller, ...options }, (signal) =>
      verifyWholeLog(context, caller.tenant, signal),
    ),
};
