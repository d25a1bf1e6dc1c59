import { ERRORS, HoldfastError } from '../core/errors/errors.js';
import type { Problem } from '../core/errors/problem.js';
import { namedTrouble } from '../storage/database/database-trouble.js';

export const PROBLEM_TYPE = 'application/problem+json';

/** What was thrown, as an error of the table. Of what is not one of ours nothing is said but what kind of trouble it is. */
export function asHoldfastError(thrown: unknown): HoldfastError {
  if (thrown instanceof HoldfastError && thrown.code !== 'internal') return thrown;
  const trouble = namedTrouble(thrown);
  if (trouble !== null) return trouble;
  return new HoldfastError('internal', 'The server failed to answer; its log has the reason.', { cause: thrown });
}

export function toProblem(error: HoldfastError, instance: string, requestId: string): Problem {
  return {
    type: `/docs/errors#${error.code}`,
    title: ERRORS[error.code].title,
    status: error.status,
    detail: error.message,
    instance,
    code: error.code,
    hint: error.hint,
    requestId,
    errors: [...error.fields],
  };
}
