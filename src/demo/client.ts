import type { DecisionRequest, InterruptionView } from '../core/interruptions/interruption.js';
import type { RunEvent } from '../core/log/event.js';
import type { VerifyReport } from '../core/log/verify-log.js';
import type { Page } from '../core/page.js';
import type { RunView, StartRun } from '../core/runs/run.js';

/** What the demo asks a server over HTTP. */
export interface DemoClient {
  startRun(request: StartRun, options: { readonly key: string }): Promise<RunView>;
  getRun(id: string): Promise<RunView>;
  streamEvents(id: string, after: number, signal: AbortSignal): AsyncGenerator<RunEvent, void>;
  listInterruptions(filter: { run: string; status: 'pending'; limit: number }): Promise<Page<InterruptionView>>;
  decide(id: string, decision: DecisionRequest): Promise<InterruptionView>;
  verifyRun(id: string): Promise<VerifyReport>;
}
