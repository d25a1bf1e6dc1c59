import { z } from 'zod';

export const currency = z.string().regex(/^[A-Z]{3}$/, 'expected three capital letters, as EUR');
/** Whole cents: sums of fractions are off by fractions. */
export const toCents = (amount: number): number => Math.round(amount * 100);
export const fromCents = (cents: number): number => cents / 100;
export const amountText = (amount: number, unit: string): string => `${amount.toFixed(2)} ${unit}`;

const row = z.object({
  employee: z.string().min(1),
  amount: z.coerce.number().positive(),
  currency: z.string(),
  receipt: z.enum(['yes', 'no']),
});
export type LedgerRow = z.infer<typeof row>;

/** The rows of a ledger: comma-separated values without quotes, under a line of names. Throws for what is none. */
export function parseLedger(text: string): LedgerRow[] {
  const [head = '', ...lines] = text.trim().split('\n');
  const names = head.trim().split(',');
  return lines.map((line) => {
    const cells = line.trim().split(',');
    return row.parse(Object.fromEntries(names.map((name, column) => [name, cells[column]])));
  });
}

/** The policy's first rule. */
export const countedRows = (rows: readonly LedgerRow[]): LedgerRow[] => rows.filter(({ receipt }) => receipt === 'yes');
