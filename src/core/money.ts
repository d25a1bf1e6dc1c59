import { z } from 'zod';

/**
 * Money is whole nano-dollars, as a `bigint`: sums are exact. At every border it is a text in dollars with at most nine
 * decimals (`1.25`, `0.000000001`), since a number would lose digits.
 */
const DECIMALS = 9;
const NANOS_PER_USD = 10n ** BigInt(DECIMALS);

const USD = /^(0|[1-9]\d{0,8})(\.\d{1,9})?$/;

/** Dollars as a text: not negative, below a billion. */
export const usdText = z
  .string()
  .regex(USD, 'expected dollars as a text, such as "1.25": below a billion, at most nine decimals');

/** Nano-dollars of a text that `usdText` takes. */
export function nanosOf(usd: string): bigint {
  const [whole = '0', part = ''] = usd.split('.');
  return BigInt(whole) * NANOS_PER_USD + BigInt(part.padEnd(DECIMALS, '0'));
}

/** The shortest text of an amount. */
export function usdOf(nanos: bigint): string {
  const text = (nanos < 0n ? -nanos : nanos).toString().padStart(DECIMALS + 1, '0');
  const part = text.slice(-DECIMALS).replace(/0+$/, '');
  return `${nanos < 0n ? '-' : ''}${text.slice(0, -DECIMALS)}${part === '' ? '' : `.${part}`}`;
}

/** Dollars of a column of nano-dollars, which the driver gives as text; null stays null. */
export const usdOrNull = (nanos: string | null): string | null => (nanos === null ? null : usdOf(BigInt(nanos)));
