import { z } from 'zod';
import { usdText } from '../money.js';

const day = z.iso.date();

/** What is asked of what a tenant has spent. Days are of UTC, by the clock of the database, both included. */
export const spendQuery = {
  by: z.enum(['day', 'agent', 'model']).default('day'),
  from: day.exactOptional().describe('First day, as 2026-01-31.'),
  to: day.exactOptional().describe('Last day.'),
  agent: z.string().min(1).max(200).exactOptional().describe('Only runs of this agent.'),
};
export const spendFilter = z.strictObject(spendQuery);
export type SpendFilter = z.input<typeof spendFilter>;

export const spendView = z
  .object({
    name: z.string().describe('The day, the agent or the model.'),
    costUsd: usdText.describe('Of the attempts whose price is known.'),
    charges: z.int().describe('How many attempts.'),
    unpriced: z.int().describe('How many of them cost what is not known.'),
    inputTokens: z.int(),
    outputTokens: z.int(),
  })
  .meta({ id: 'Spend' });
export type SpendView = z.infer<typeof spendView>;
