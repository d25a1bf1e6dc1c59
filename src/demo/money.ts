import { z } from 'zod';

export const currency = z.string().regex(/^[A-Z]{3}$/, 'expected three capital letters, as EUR');
/** Whole cents: sums of fractions are off by fractions. */
export const toCents = (amount: number): number => Math.round(amount * 100);
export const fromCents = (cents: number): number => cents / 100;
export const amountText = (amount: number, unit: string): string => `${amount.toFixed(2)} ${unit}`;
