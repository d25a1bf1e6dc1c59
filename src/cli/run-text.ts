import { leastLimit } from '../core/budgets/budget.js';
import type { Integrity } from '../core/integrity.js';
import type { InterruptionView } from '../core/interruptions/interruption.js';
import type { CallOutcome } from '../core/log/call-outcome.js';
import type { RunView } from '../core/runs/run.js';
import { cut, jsonText, plain, plainLines, print, width } from './print.js';

/** A value as one line: texts as they are, everything else as JSON. */
export const oneLine = (value: unknown): string => plain(typeof value === 'string' ? value : JSON.stringify(value));

/** How a call ended, as one line. */
export function outcomeText(outcome: CallOutcome): string {
  if (outcome.type === 'output') return oneLine(outcome.output);
  if (outcome.type === 'error') return `error ${plain(outcome.code)}: ${plain(outcome.message)}`;
  return `${outcome.why}: ${plain(outcome.message)}`;
}

/** What is printed beside it is not to be trusted. */
export function printChanged(integrity: Integrity, indent = ''): void {
  for (const { table, row, column, what } of integrity)
    print(plain(`${indent}CHANGED  ${table}${column === null ? '' : `.${column}`} of ${row}: ${what}`));
}

export function printRun(run: RunView): void {
  print(`run      ${run.id}`);
  print(`agent    ${plain(run.agent)} ${plain(run.agentVersion)}`);
  print(`status   ${run.status}`);
  print(`turns    ${run.turns} (${run.usage.totalTokens} tokens)`);
  print(`cost     ${run.costUsd === null ? 'unknown' : `${run.costUsd} dollars`}`);
  if (run.erasedAt !== null) print(`erased   ${run.erasedAt}`);
  if (run.error !== null) {
    print(`error    ${plain(run.error.message)} (${plain(run.error.code)})`);
    print(`way out  ${plain(run.error.hint)}`);
  }
  if (run.output !== null)
    print(`output   ${typeof run.output === 'string' ? plainLines(run.output) : jsonText(run.output, 2)}`);
  printChanged(run.integrity);
  for (const id of run.interruptions) print(`waits    ${id} (holdfast inbox)`);
}

export function printInterruption(one: InterruptionView): void {
  print(`${one.id}  ${one.status}`);
  print(cut(`  run      ${one.runId} (${plain(one.agent)})`, width()));
  if (one.tool !== null) print(cut(`  call     ${plain(one.tool)} ${oneLine(one.arguments)}`, width()));
  print(`  why      ${plain(one.reason.text)}`);
  printChanged(one.integrity, '  ');
  if (one.unfit !== null) print(`  unfit    ${plain(one.unfit)}`);
  if (one.wait?.kind === 'budget' && one.status === 'pending')
    print(`  more     --budget ${leastLimit(one.wait)} or higher`);
  if (one.wait?.kind === 'question') {
    if (one.wait.choices !== null) print(`  choices  ${one.wait.choices.map(oneLine).join(' | ')}`);
    if (one.wait.schema !== null) print(cut(`  schema   ${oneLine(one.wait.schema)}`, width()));
  }
  if (one.status === 'pending')
    print(`  verdicts ${one.verdicts.join(', ') || 'none'}${one.expiresAt === null ? '' : `, until ${one.expiresAt}`}`);
  if (one.requiredApprovals > 1) print(`  takes    ${one.requiredApprovals} approvals`);
  if (one.separateRequester) print('  of       someone who did not ask for the run');
  for (const { verdict, actor, message, edit, always, decidedAt } of one.decisions) {
    print(`  decided  ${verdict} by ${plain(actor)} at ${decidedAt}${message === null ? '' : `: ${plain(message)}`}`);
    if (edit !== null) print(cut(`  edited   ${oneLine(edit.arguments)}`, width()));
    if (always !== null)
      print(cut(`  always   ${always === true ? 'what this call needs' : oneLine(always.scope)}`, width()));
  }
}
