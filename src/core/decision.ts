import { HoldfastError } from './errors.js';
import type { DecisionRequest, InterruptionView } from './interruption.js';
import { canonical, type JsonValue } from './json.js';

const answerIn = (request: DecisionRequest): JsonValue => (request.verdict === 'answer' ? request.value : null);

/**
 * Whether a decision settles an interruption (`settle`) or repeats the one that did (`same`). Throws what the caller did
 * wrong. Called under the lock of the run's row.
 */
export function judgeDecision(it: InterruptionView, request: DecisionRequest, actor: string): 'settle' | 'same' {
  if (request.digest !== undefined && request.digest !== it.digest) {
    throw new HoldfastError(
      'digest_mismatch',
      `Interruption ${it.id} has the digest ${it.digest}, not ${request.digest}.`,
    );
  }
  if (!it.verdicts.includes(request.verdict)) {
    throw new HoldfastError(
      'verdict_not_allowed',
      `Interruption ${it.id} takes ${it.verdicts.join(', ')}, not ${request.verdict}.`,
    );
  }
  if (it.status === 'pending') return 'settle';
  if (it.status === 'expired')
    throw new HoldfastError('interruption_expired', `Interruption ${it.id} expired at ${it.expiresAt}.`);
  if (it.status === 'cancelled') {
    throw new HoldfastError('interruption_cancelled', `Interruption ${it.id} was cancelled with its run ${it.runId}.`);
  }
  const made = it.decisions.find((decision) => decision.actor === actor);
  const same =
    made !== undefined &&
    made.verdict === request.verdict &&
    made.message === (request.message ?? null) &&
    canonical(made.value) === canonical(answerIn(request));
  if (same) return 'same';
  const by = it.decisions.at(-1)?.actor ?? 'somebody';
  throw new HoldfastError('decision_conflict', `Interruption ${it.id} was ${it.status} by ${by}; that stands.`);
}
