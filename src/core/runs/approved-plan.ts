import { z } from 'zod';

/** The plan of a run, which people approved before the run began. */
export const approvedPlan = z.object({
  runId: z.string().describe('The run that it was approved for. In a fork it is another one, and allows nothing.'),
  digest: z.string().describe('SHA-256 over the plan and its input as canonical JSON.'),
  by: z.array(z.string()).describe('Who approved it.'),
});
export type ApprovedPlan = z.infer<typeof approvedPlan>;
