import type { z } from 'zod';
import type { RunEvent } from '../core/log/event.js';
import type { VerifyReport } from '../core/log/verify-log.js';
import type { RunView } from '../core/runs/run.js';
import { treasurerAnswer } from './agent.js';
import { amountText, countedRows, type LedgerRow } from './ledger.js';
import { dataOf, KILLS, type Kill } from './moment.js';
import { type PaymentLine, payInput } from './pay.js';
import { sumExpenses } from './sum-expenses.js';

export interface Evidence {
  readonly run: RunView;
  readonly events: readonly RunEvent[];
  readonly report: VerifyReport;
  readonly payments: readonly PaymentLine[];
  readonly killed: ReadonlySet<Kill>;
}

/** What is wrong with how any run ended; nothing, if all is well. */
export function problemsOf({ run, events, report, payments }: Evidence): string[] {
  const problems: string[] = [];
  if (run.status !== 'completed') problems.push(`the run is ${run.status}, not completed`);
  if (!report.ok) problems.push(`the log is broken at event ${report.broken?.seq}: ${report.broken?.what}`);
  if (!report.complete) problems.push('the log has no end');
  if (events.some(({ seq }, index) => seq !== index + 1))
    problems.push('the stream of events had a gap or a repetition');
  for (const event of events) {
    const finished = dataOf('call.finished', event);
    if (finished?.tool !== 'pay') continue;
    const lines = payments.filter(({ callId }) => callId === finished.callId).length;
    const expected = finished.outcome.type === 'output' ? 1 : 0;
    if (lines !== expected) problems.push(`call ${finished.callId} should have ${expected} payments and has ${lines}`);
  }
  const finished = events.flatMap((event) => dataOf('call.finished', event)?.callId ?? []);
  for (const { callId, payee } of payments) {
    if (!finished.includes(callId)) problems.push(`the payment to ${payee} has no call in the log`);
  }
  return problems;
}

/** What a live model did that is its own affair, and that a reader should know. */
export function notesOf({ run, payments, killed }: Evidence): string[] {
  const notes: string[] = [];
  const named = treasurerAnswer.safeParse(run.output).data?.paid.map(({ payment }) => payment) ?? [];
  const made = payments.map(({ payment }) => payment);
  if (named.toSorted().join() !== made.toSorted().join()) {
    notes.push("the model's answer names other payments than those that were made");
  }
  if (new Set(payments.map(lineOf)).size < payments.length) notes.push('the model asked for one payment in two calls');
  const missed = KILLS.filter((kill) => !killed.has(kill));
  if (missed.length > 0) notes.push(`this model gave no occasion for a kill at: ${missed.join(', ')}`);
  return notes;
}

const lineOf = ({ payee, amount, currency }: Pick<z.infer<typeof payInput>, 'payee' | 'amount' | 'currency'>): string =>
  `${amountText(amount, currency)} to ${payee}`;

/** What else is wrong when the model is the scripted one, whose payments are known from the ledger. */
export function scriptedProblemsOf(evidence: Evidence, ledger: readonly LedgerRow[]): string[] {
  const { events, payments } = evidence;
  const problems = notesOf(evidence);
  const verdicts = events.flatMap((event) => dataOf('interruption.decided', event)?.verdict ?? []).sort();
  if (verdicts.join() !== 'answer,approve,reject') problems.push(`the decisions were ${verdicts.join(', ') || 'none'}`);
  const refused = refusedPayments(events);
  const due = sumExpenses(countedRows(ledger)).map(({ employee, total, currency }) =>
    lineOf({ payee: employee, amount: total, currency }),
  );
  const expected = due.filter((line) => !refused.has(line)).sort();
  const made = payments.map(lineOf).sort();
  if (expected.join() !== made.join()) {
    problems.push(`expected were ${expected.join(', ')}; made were ${made.join(', ') || 'none'}`);
  }
  return problems;
}

function refusedPayments(events: readonly RunEvent[]): ReadonlySet<string> {
  const asked = new Map<string, string>();
  const refused = new Set<string>();
  for (const event of events) {
    const checked = dataOf('call.checked', event);
    if (checked?.tool === 'pay') asked.set(checked.callId, lineOf(payInput.parse(checked.arguments)));
    const finished = dataOf('call.finished', event);
    if (finished?.outcome.type === 'refused') refused.add(asked.get(finished.callId) ?? '');
  }
  return refused;
}
