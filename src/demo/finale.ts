import type { RunView } from '../core/runs/run.js';
import { treasurerAnswer } from './agent.js';
import { amountText } from './money.js';
import type { PaymentLine } from './pay.js';
import type { Story } from './story.js';

export function showAnswer(story: Story, run: RunView): void {
  story.heading('The answer');
  const answer = treasurerAnswer.safeParse(run.output).data;
  if (answer === undefined) {
    story.paragraph(run.error === null ? JSON.stringify(run.output) : run.error.message);
    return;
  }
  for (const { payee, amount, currency, payment } of answer.paid) {
    story.paragraph(`paid ${amountText(amount, currency)} to ${payee} (${payment})`);
  }
  for (const { payee, amount, currency, reason } of answer.notPaid) {
    story.paragraph(`not paid ${amountText(amount, currency)} to ${payee}: ${reason}`);
  }
  story.paragraph(answer.summary);
}

export function showPayments(story: Story, payments: readonly PaymentLine[]): void {
  story.heading('The payments file');
  for (const { payment, amount, currency, payee } of payments) {
    story.line(`${payment.padEnd(18)}${amountText(amount, currency).padStart(13)}  ${payee}`);
  }
  if (payments.length === 0) story.line('It is empty.');
}

export function showVerdict(story: Story, problems: readonly string[], notes: readonly string[]): void {
  story.line();
  for (const problem of problems) story.line(`WRONG  ${problem}`, 'bad');
  for (const note of notes) story.paragraph(`Note: ${note}.`);
  if (problems.length > 0) return;
  story.line('All holds: nothing was lost, no payment was made twice, and the log proves it.', 'good');
}
