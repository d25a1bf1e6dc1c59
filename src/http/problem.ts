import { z } from 'zod';
import { ERRORS, HoldfastError } from '../core/errors/errors.js';
import { namedTrouble } from '../storage/database/database-trouble.js';

/** The body of every answer that is not a success: RFC 9457, with `code`, `hint`, `requestId` and `errors` added. */
export const problem = z
  .object({
    type: z.string().describe('/docs/errors#<code>'),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z.string().describe('The path that was asked for.'),
    code: z.string().describe('A code of docs/errors.md.'),
    hint: z.string().describe('The way out.'),
    requestId: z.string().describe('Also in the header X-Request-Id and in the log of the server.'),
    errors: z
      .array(z.object({ pointer: z.string(), detail: z.string() }))
      .describe(
        'What is wrong where: JSON pointers (RFC 6901) into the body, or /path, /query and /header and a name.',
      ),
  })
  .meta({ id: 'Problem' });
export type Problem = z.infer<typeof problem>;

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
