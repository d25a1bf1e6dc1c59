import { z } from 'zod';
import { type Budgets, budgets } from '../../core/budgets/budget.js';
import { configuredPrice, priceTable } from '../../core/budgets/price.js';
import { fieldErrorsOf, invalidConfig, pointerTo } from '../../core/field-errors.js';
import { PriceBook } from '../../models/budgets/price-book.js';

const moneyConfig = z.object({
  prices: priceTable.default({}),
  unknownPrice: z.union([z.literal('refuse'), z.strictObject({ ceiling: configuredPrice })]).default('refuse'),
  budgets: budgets.prefault({}),
});

/** What models cost and what may be spent. */
export interface Money {
  readonly prices: PriceBook;
  readonly budgets: Budgets;
}

/** `agents`: those that there are. A plan costs nothing by itself. Throws `config_invalid`, naming the field. */
export async function openMoney(
  config: z.input<typeof moneyConfig>,
  agents: ReadonlyMap<string, { readonly plan: object | null }>,
): Promise<Money> {
  const parsed = moneyConfig.safeParse(config);
  if (!parsed.success) throw invalidConfig('The engine', fieldErrorsOf(parsed.error));
  const { prices, unknownPrice, budgets: allowed } = parsed.data;
  const unknown = Object.keys(allowed.perAgent ?? {}).filter((name) => !agents.has(name));
  if (unknown.length > 0) {
    const detail = 'there is no agent of this name';
    throw invalidConfig(
      'The engine',
      unknown.map((name) => ({ pointer: pointerTo(['budgets', 'perAgent', name]), detail })),
    );
  }
  const plans = [...agents].filter(([, { plan }]) => plan !== null);
  const free = Object.fromEntries(plans.map(([name]) => [`object/${name}`, 'free' as const]));
  const ceiling = unknownPrice === 'refuse' ? null : unknownPrice.ceiling;
  return { prices: await PriceBook.open({ ...free, ...prices }, ceiling), budgets: allowed };
}
