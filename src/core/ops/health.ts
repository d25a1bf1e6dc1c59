import { z } from 'zod';

const status = z.enum(['pass', 'warn', 'fail']);

const check = z.object({ status, detail: z.string().exactOptional() });
export type Check = z.infer<typeof check>;

export const health = z
  .object({
    status: status.describe('`warn`: it works, and not everything does.'),
    version: z.string(),
    database: z.enum(['pglite', 'postgres']),
    checks: z.record(z.string(), check),
  })
  .meta({ id: 'Health' });
export type Health = z.infer<typeof health>;
