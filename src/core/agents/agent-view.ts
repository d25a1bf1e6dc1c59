import { z } from 'zod';

/** An agent of the configuration. */
export const agentView = z
  .object({
    name: z.string(),
    version: z.string(),
    definitionHash: z.string(),
    model: z.string().nullable(),
    tools: z.array(z.string()),
    grants: z.array(z.string()),
    marks: z
      .array(z.object({ tool: z.string(), toolVersion: z.string(), runId: z.string(), seq: z.int() }))
      .describe(
        'Tools of it, or of an agent that it can hand over to, that are declared deterministic and gave something else than this event says when a replay executed them again.',
      ),
  })
  .meta({ id: 'Agent' });
export type AgentView = z.infer<typeof agentView>;
