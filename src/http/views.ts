/** Schemas of what the engine answers and `core` has no schema for. */
import { z } from 'zod';
import { usdText } from '../core/money.js';
import { RUN_STATUSES } from '../core/run.js';

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

export const health = z
  .object({
    status: z.enum(['pass', 'warn', 'fail']),
    version: z.string(),
    database: z.enum(['pglite', 'postgres']),
    checks: z.record(z.string(), z.object({ status: z.enum(['pass', 'fail']), detail: z.string().exactOptional() })),
  })
  .meta({ id: 'Health' });

export const stats = z
  .object({
    runs: z.record(z.enum(RUN_STATUSES), z.int()),
    pendingInterruptions: z.int(),
    events: z.int(),
    totalTokens: z.int(),
    costUsd: usdText.describe('What all model calls cost, as far as prices are known.'),
    unpriced: z.int().describe('How many model calls cost what is not known.'),
  })
  .meta({ id: 'Stats' });
