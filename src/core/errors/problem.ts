import { z } from 'zod';

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
