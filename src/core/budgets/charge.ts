import { z } from 'zod';
import { usdText } from '../money.js';
import { usageParts } from './price.js';

/** Where a price comes from, and which it was. `ceiling`: none is known, and this is what the configuration says then. */
export const priceName = z.object({
  source: z.enum(['config', 'genai-prices', 'ceiling']),
  version: z.string().describe('Of the list of prices, or a digest of the configured price.'),
});
export type PriceName = z.infer<typeof priceName>;

/**
 * `settled`: by what the provider said was used. `unpriced`: no price is known, or nothing was said. `reserved`: the call is
 * under way, and counts with its estimate. `assumed`: it is not known what the call used, and its estimate stands.
 * `released`: nothing was sent.
 */
export const CHARGE_STATES = ['settled', 'unpriced', 'reserved', 'assumed', 'released'] as const;
export type ChargeState = (typeof CHARGE_STATES)[number];

/** What one attempt to get the answer of a turn costs, as the step that made it keeps it. */
export interface Charge {
  readonly turn: number;
  /** The execution of the segment that made the attempt: another one asks again, and pays again. */
  readonly execution: string;
  /** 1, 2, 3 … within the turn of the execution. */
  readonly attempt: number;
  readonly agent: string;
  readonly model: string;
  /** Null: the provider did not say. */
  readonly usage: z.infer<typeof usageParts> | null;
  /** Nano-dollars; null: unknown. */
  readonly nanos: string | null;
  readonly price: PriceName | null;
  readonly state: ChargeState;
}

export const chargeView = z
  .object({
    turn: z.int(),
    attempt: z.int(),
    agent: z.string(),
    model: z.string(),
    usage: usageParts.nullable().describe('Null: the provider did not say.'),
    costUsd: usdText.nullable().describe('Null: unknown.'),
    price: priceName.nullable(),
    state: z.enum(CHARGE_STATES),
    day: z.string().describe('The UTC day that it counts for, by the clock of the database.'),
    chargedAt: z.iso.datetime(),
  })
  .meta({ id: 'Charge' });
export type ChargeView = z.infer<typeof chargeView>;

/** What an answer cost, as the log says: dollars, or null where no price is known. */
export const answerCost = z.object({ usd: usdText.nullable(), price: priceName.nullable() });
export type AnswerCost = z.infer<typeof answerCost>;

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
