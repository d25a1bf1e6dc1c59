import { z } from 'zod';
import { type DeclaredTool, defineTool } from '../tools/define/define-tool.js';
import { currency, fromCents, toCents } from './ledger.js';

const line = z.object({ employee: z.string().min(1), amount: z.number().positive(), currency });
export type ExpenseLine = z.infer<typeof line>;

const total = z.object({ employee: z.string(), currency: z.string(), total: z.number(), lines: z.int() });
export const totals = z.object({ totals: z.array(total) });
export type Total = z.infer<typeof total>;

/** Adds up expense lines per employee and currency, to the cent, in the order of their first line. */
export function sumExpenses(lines: readonly ExpenseLine[]): Total[] {
  const sums = new Map<string, { employee: string; currency: string; cents: number; lines: number }>();
  for (const { employee, currency: unit, amount } of lines) {
    const key = `${employee}\n${unit}`;
    const sum = sums.get(key) ?? { employee, currency: unit, cents: 0, lines: 0 };
    sums.set(key, { ...sum, cents: sum.cents + toCents(amount), lines: sum.lines + 1 });
  }
  return [...sums.values()].map(({ cents, ...sum }) => ({ ...sum, total: fromCents(cents) }));
}

export const sumExpensesTool = (): DeclaredTool =>
  defineTool({
    name: 'sum_expenses',
    description: 'Adds up expense lines per employee and currency, exact to the cent. Pass only the lines that count.',
    input: z.object({ lines: z.array(line).min(1).max(1000) }),
    output: totals,
    effect: 'pure',
    deterministic: true,
    execute: ({ lines }) => ({ totals: sumExpenses(lines) }),
  });
