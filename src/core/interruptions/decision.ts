import { leastLimit, raisedLimit } from '../budgets/budget.js';
import { HoldfastError } from '../errors/errors.js';
import { canonical, type JsonObject, type JsonValue } from '../json.js';
import { nanosOf } from '../money.js';
import type {
  Always,
  ArgumentEdit,
  DecisionRequest,
  DecisionView,
  InterruptionReason,
  InterruptionView,
  Verdict,
} from './interruption.js';
import type { StandingRule } from './standing.js';

/** A decision with everything that it may leave out. `arguments` are null where they are those that were asked for. */
export interface Choice {
  readonly verdict: DecisionRequest['verdict'];
  readonly message: string | null;
  readonly value: JsonValue;
  readonly arguments: JsonObject | null;
  readonly always: Always | null;
}

/** What an approval says beyond yes, after it was judged. */
export interface ApprovalExtras {
  readonly edit: ArgumentEdit | null;
  readonly always: Always | null;
  readonly standing: StandingRule | null;
}

export const NO_EXTRAS: ApprovalExtras = { edit: null, always: null, standing: null };

/** What an event says of them: only what is there, so that a plain approval says what it always said. */
export const saidOf = ({ edit, always }: ApprovalExtras) => ({
  ...(edit === null ? {} : { edit }),
  ...(always === null ? {} : { always }),
});

/** A call that may have happened already is not the place for other arguments, nor for a rule about later calls. */
const TAKES_MORE: ReadonlySet<InterruptionReason> = new Set<InterruptionReason>(['tool_rule', 'grant_ask']);

const termsOf = (one: { readonly arguments: JsonObject | null; readonly always: Always | null }): string =>
  canonical([one.arguments, one.always]);

const asTerms = ({ edit, always }: DecisionView) => ({ arguments: edit?.arguments ?? null, always });

const isSame = (made: DecisionView, choice: Choice): boolean =>
  made.verdict === choice.verdict &&
  made.message === choice.message &&
  canonical(made.value) === canonical(choice.value) &&
  termsOf(asTerms(made)) === termsOf(choice);

/**
 * What a decision does: it settles an interruption (`settle`), it is one of several approvals that are needed (`vote`), or it
 * repeats what its actor decided before (`same`). Throws what the caller did wrong. Called under the lock of the run's row.
 */
export function judgeDecision(
  it: InterruptionView,
  digest: string | undefined,
  choice: Choice,
  actor: string,
): 'settle' | 'vote' | 'same' {
  if (digest !== undefined && digest !== it.digest) {
    const detail = `Interruption ${it.id} has the digest ${it.digest}, not ${digest}.`;
    throw new HoldfastError('digest_mismatch', detail, { fields: [{ pointer: '/digest', detail }] });
  }
  if (!it.verdicts.includes(choice.verdict)) throw notAllowed(it, choice.verdict);
  if (it.reason.code === 'budget' && choice.verdict === 'approve') assertRaises(it, choice.value);
  if ((choice.arguments !== null || choice.always !== null) && !TAKES_MORE.has(it.reason.code)) {
    throw new HoldfastError(
      'plain_approval_only',
      `Interruption ${it.id} is about ${it.reason.code === 'budget' ? 'no call' : 'a call that may have happened'}: it takes no edited arguments and no standing decision.`,
    );
  }
  if (it.status === 'pending') return judgePending(it, choice, actor);
  if (it.status === 'expired')
    throw new HoldfastError('interruption_expired', `Interruption ${it.id} expired at ${it.expiresAt}.`);
  if (it.status === 'cancelled') {
    throw new HoldfastError('interruption_cancelled', `Interruption ${it.id} was cancelled with its run ${it.runId}.`);
  }
  if (it.decisions.some((made) => made.actor === actor && isSame(made, choice))) return 'same';
  const by = it.decisions.at(-1)?.actor ?? 'an earlier decision';
  throw new HoldfastError('decision_conflict', `Interruption ${it.id} was ${it.status} by ${by}; that stands.`);
}

/** A limit that leaves no room would only be asked for again. */
function assertRaises({ id, wait }: InterruptionView, value: JsonValue): void {
  const given = raisedLimit.safeParse(value);
  const least = wait?.kind === 'budget' ? leastLimit(wait) : '0';
  if (given.success && nanosOf(given.data.limitUsd) >= nanosOf(least)) return;
  const detail = `expected the new limit in dollars, at least "${least}": {"usd": "${least}"}`;
  throw new HoldfastError('invalid_request', `Interruption ${id} waits for more money. /budget: ${detail}.`, {
    fields: [{ pointer: '/budget', detail }],
  });
}

function notAllowed({ id, kind, verdicts }: InterruptionView, verdict: Choice['verdict']): HoldfastError {
  if (verdicts.length > 0) {
    return new HoldfastError('verdict_not_allowed', `Interruption ${id} takes ${verdicts.join(', ')}, not ${verdict}.`);
  }
  return new HoldfastError('verdict_not_allowed', `Interruption ${id} (${kind}) is settled by no person.`, {
    hint: 'Wait for what the run waits for, or cancel the run.',
  });
}

/** One person counts once, and all approve the same; the one that approved may still reject. */
function judgePending(it: InterruptionView, choice: Choice, actor: string): 'settle' | 'vote' | 'same' {
  if (choice.verdict !== 'approve') return 'settle';
  const mine = it.decisions.find((made) => made.actor === actor);
  if (mine !== undefined) {
    if (isSame(mine, choice)) return 'same';
    throw new HoldfastError(
      'decision_conflict',
      `${actor} approved interruption ${it.id} before, in another way; that stands. Reject it, or leave it to others.`,
    );
  }
  const [first] = it.decisions;
  if (first !== undefined && termsOf(asTerms(first)) !== termsOf(choice)) {
    const how = canonical({ ...(first.edit && { arguments: first.edit.arguments }), always: first.always ?? false });
    throw new HoldfastError(
      'decision_conflict',
      `${first.actor} approved interruption ${it.id} with other terms: ${how}. Approve the same, or reject it.`,
    );
  }
  return it.decisions.length + 1 >= it.requiredApprovals ? 'settle' : 'vote';
}

/**
 * Whether someone else than who asked for a run must approve its calls. Of the settings of the engine, the agent and the tool one
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
    `${actor} asked for run ${runId}, and someone else must approve interruption ${id}. Nothing was decided.`,
  );
}
