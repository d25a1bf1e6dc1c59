import { z } from 'zod';
import { HoldfastError } from '../core/errors.js';
import { fieldErrorsOf } from '../core/field-errors.js';
import { priceTable } from '../core/price.js';

const money = z.object({ prices: priceTable.default({}) });

/** What a configuration says of money. */
export type Money = z.output<typeof money>;

/** Throws `config_invalid`, naming the field. */
export function moneyIn(config: z.input<typeof money>): Money {
  const parsed = money.safeParse({ prices: config.prices });
  if (parsed.success) return parsed.data;
  const fields = fieldErrorsOf(parsed.error);
  const said = fields.map(({ pointer, detail }) => `${pointer.slice(1)}: ${detail}`).join('; ');
  throw new HoldfastError('config_invalid', `The engine cannot work like this: ${said}.`, { fields });
}
