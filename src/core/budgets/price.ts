import { z } from 'zod';
import { nanosOf, usdText } from '../money.js';

/** What a model call used. `inputTokens` is the total and includes cached ones; the output includes reasoning. */
export const usageParts = z
  .object({
    inputTokens: z.int().min(0),
    cachedInputTokens: z.int().min(0),
    cacheWriteTokens: z.int().min(0),
    outputTokens: z.int().min(0),
    reasoningTokens: z.int().min(0),
  })
  .meta({ id: 'UsageParts' });
export type UsageParts = z.infer<typeof usageParts>;

/** Nano-dollars for a million tokens: another rate for the whole call where its input is longer than `over` tokens. */
export interface Rate {
  readonly base: bigint;
  readonly tiers: readonly { readonly over: number; readonly rate: bigint }[];
}

/** Null: as plain input, or as output, costs. */
export interface Price {
  readonly input: Rate;
  readonly cachedInput: Rate | null;
  readonly cacheWrite: Rate | null;
  readonly output: Rate;
  readonly reasoning: Rate | null;
  /** Nano-dollars for each call. */
  readonly perCall: bigint;
}

const MILLION = 1_000_000n;

/** What a call costs in nano-dollars, rounded up once. Each token counts once, also where a part is said to be more than its whole. */
export function costOf(price: Price, usage: UsageParts): bigint {
  const cached = Math.min(usage.cachedInputTokens, usage.inputTokens);
  const written = Math.min(usage.cacheWriteTokens, usage.inputTokens - cached);
  const reasoning = Math.min(usage.reasoningTokens, usage.outputTokens);
  const of = (tokens: number, rate: Rate): bigint => BigInt(tokens) * rateAt(rate, usage.inputTokens);
  const tokens =
    of(usage.inputTokens - cached - written, price.input) +
    of(cached, price.cachedInput ?? price.input) +
    of(written, price.cacheWrite ?? price.input) +
    of(usage.outputTokens - reasoning, price.output) +
    of(reasoning, price.reasoning ?? price.output);
  return (tokens + MILLION - 1n) / MILLION + price.perCall;
}

/** The most that a call can cost with so much input and output, whatever of it turns out to be cached or reasoning. */
export function highestCostOf(price: Price, inputTokens: number, outputTokens: number): bigint {
  const none = { inputTokens, outputTokens, cachedInputTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
  const costs = [0, inputTokens].flatMap((cacheWriteTokens) =>
    [0, outputTokens].map((reasoningTokens) => costOf(price, { ...none, cacheWriteTokens, reasoningTokens })),
  );
  return costs.reduce((a, b) => (a > b ? a : b), 0n);
}

const rateAt = ({ base, tiers }: Rate, inputTokens: number): bigint =>
  tiers.reduce((best, tier) => (inputTokens > tier.over && tier.over >= best.over ? tier : best), {
    over: -1,
    rate: base,
  }).rate;

const rates = z.strictObject({
  inputPerMillion: usdText,
  outputPerMillion: usdText,
  cachedInputPerMillion: usdText.optional(),
  cacheWritePerMillion: usdText.optional(),
  reasoningPerMillion: usdText.optional(),
});

/** A price in dollars for a million tokens each. `above`: other rates for calls whose input is longer than so many tokens. */
export const configuredPrice = z.union(
  [
    z.literal('free'),
    rates.extend({
      perCall: usdText.optional(),
      above: z
        .array(rates.partial().extend({ inputTokens: z.int().min(1) }))
        .max(10)
        .optional(),
    }),
  ],
  { error: 'expected "free", or at least { inputPerMillion, outputPerMillion } in dollars as texts' },
);
export type ConfiguredPrice = z.infer<typeof configuredPrice>;

/** Prices by the name of the model. A `*` at the end stands for any rest: `ollama/*`. The longest name that fits counts. */
export const priceTable = z.record(
  z.string().regex(/^[^*]{0,200}\*?$/, 'expected the name of a model, with a "*" at its end at most'),
  configuredPrice,
);
export type PriceTable = z.infer<typeof priceTable>;

const FREE: Rate = { base: 0n, tiers: [] };

type RateName = keyof z.infer<typeof rates>;

/** What a part costs without a rate of its own. */
const WHOLE: { readonly [N in RateName]?: RateName } = {
  ...{ cachedInputPerMillion: 'inputPerMillion', cacheWritePerMillion: 'inputPerMillion' },
  reasoningPerMillion: 'outputPerMillion',
};

export function priceOfConfigured(configured: ConfiguredPrice): Price {
  if (configured === 'free')
    return { input: FREE, cachedInput: null, cacheWrite: null, output: FREE, reasoning: null, perCall: 0n };
  const { above = [] } = configured;
  const rate = (name: RateName): Rate | null => {
    // A part that has a rate of its own only from some length on costs as its whole before.
    const whole = WHOLE[name];
    const base =
      configured[name] ?? (whole !== undefined && above.some((tier) => tier[name]) ? configured[whole] : undefined);
    const tiers = above.flatMap((tier) => {
      const usd = tier[name] ?? (configured[name] === undefined && whole !== undefined ? tier[whole] : undefined);
      return usd === undefined ? [] : [{ over: tier.inputTokens, rate: nanosOf(usd) }];
    });
    return base === undefined ? null : { base: nanosOf(base), tiers };
  };
  return {
    input: rate('inputPerMillion') ?? FREE,
    cachedInput: rate('cachedInputPerMillion'),
    cacheWrite: rate('cacheWritePerMillion'),
    output: rate('outputPerMillion') ?? FREE,
    reasoning: rate('reasoningPerMillion'),
    perCall: nanosOf(configured.perCall ?? '0'),
  };
}
