import { z } from 'zod';
import { jsonObject } from '../json.js';
import { unreadableItem } from '../page.js';

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
        'Deterministic tools that gave another output than this event says when a replay executed them again. They are of this agent, or of one that it can hand over to.',
      ),
  })
  .meta({ id: 'Agent' });
export type AgentView = z.infer<typeof agentView>;

export const agentDefinition = z
  .object({
    hash: z.string().describe('SHA-256 of the canonical JSON of the definition.'),
    version: z.string(),
    firstSeenAt: z.iso.datetime().describe('When a run of the tenant first had it.'),
    definition: jsonObject.describe(
      'Instructions, model, tools, handoffs, grants and limits, as the first run had them.',
    ),
  })
  .meta({ id: 'AgentDefinition' });
export type AgentDefinition = z.infer<typeof agentDefinition>;

export const agentDetail = agentView
  .extend({
    definition: agentDefinition.shape.definition.describe('What runs that start now have.'),
    definitions: z
      .array(agentDefinition.omit({ definition: true }))
      .describe('Those that runs of the tenant have had, newest first; at most 100.'),
    unreadable: z
      .array(unreadableItem)
      .exactOptional()
      .describe(
        'Definitions, by their hash, whose rows cannot be read, because someone changed them. Absent: there is none.',
      ),
  })
  .meta({ id: 'AgentDetail' });
export type AgentDetail = z.infer<typeof agentDetail>;
