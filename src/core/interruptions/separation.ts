import { HoldfastError } from '../errors/errors.js';
import type { Verdict } from './interruption.js';

/**
 * Whether somebody else than who asked for a run must approve its calls. Of the settings of the engine, the agent and the tool one
 * that says yes is enough. Where none says anything, a call that takes several approvals takes them of others.
 */
export function isSeparate(settings: readonly (boolean | null | undefined)[], required: number): boolean {
  if (settings.includes(true)) return true;
  return !settings.includes(false) && required > 1;
}

/** Throws `requester_may_not_approve` where who asked for a run approves a call of it that others must approve. */
export function assertSeparate(
  interruption: { readonly id: string; readonly runId: string; readonly separateRequester: boolean },
  verdict: Verdict,
  actor: string,
  requesters: readonly string[],
): void {
  const { id, runId, separateRequester } = interruption;
  if (!separateRequester || verdict !== 'approve' || !requesters.includes(actor)) return;
  throw new HoldfastError(
    'requester_may_not_approve',
    `${actor} asked for run ${runId}, and somebody else must approve interruption ${id}. Nothing was decided.`,
  );
}
