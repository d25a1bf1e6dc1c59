import { appendFile, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { sha256 } from '../core/json.js';
import { type DeclaredTool, defineTool } from '../tools/define/define-tool.js';
import { amountText, currency } from './ledger.js';

const BANK_ANSWERS_AFTER_MS = 1200;
const APPROVAL_ABOVE = 200;

export const payInput = z.object({
  payee: z.string().min(1).describe('Name of the employee.'),
  amount: z.number().positive().max(100_000),
  currency,
  reference: z.string().min(1).max(100),
});

export const payment = payInput.extend({ payment: z.string() });

/** A line of the payments file: a payment, and the call that made it. */
export const paymentLine = payment.extend({ callId: z.string() });
export type PaymentLine = z.infer<typeof paymentLine>;

/** A payment is one line that is appended to a file. A second call appends a second line, so that the tool is `unsafe`. */
export const payTool = (paymentsFile: string): DeclaredTool =>
  defineTool({
    name: 'pay',
    description: 'Pays an employee. One payment per employee and currency; it cannot be taken back.',
    input: payInput,
    output: payment,
    capabilities: ({ currency: unit }) => [`payments:pay:${unit}`],
    effect: 'unsafe',
    onUnknownEffect: 'ask',
    approval: ({ payee, amount, currency: unit }) =>
      amount > APPROVAL_ABOVE &&
      `Pay ${amountText(amount, unit)} to ${payee}? Payments over ${APPROVAL_ABOVE} need an approval.`,
    execute: async (input, { callId, idempotencyKey, signal }) => {
      const made = {
        payment: `pay-${sha256(idempotencyKey).slice('sha256:'.length, 'sha256:'.length + 12)}`,
        ...input,
      };
      await mkdir(dirname(paymentsFile), { recursive: true, mode: 0o700 });
      await appendFile(paymentsFile, `${JSON.stringify({ ...made, callId })}\n`);
      await sleep(BANK_ANSWERS_AFTER_MS, undefined, { signal });
      return made;
    },
  });
