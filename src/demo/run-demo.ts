import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HoldfastError } from '../core/errors/errors.js';
import type { RunView } from '../core/runs/run.js';
import { treasurerAnswer } from './agent.js';
import type { DemoClient } from './client.js';
import { demoFilesDir } from './config.js';
import { notesOf, problemsOf, scriptedProblemsOf } from './judge.js';
import { amountText, parseLedger } from './ledger.js';
import type { PaymentLine } from './pay.js';
import { makePlace, type Place, paymentsIn, removePlace, removePlaceNow, tokenIn } from './place.js';
import { DemoServer } from './server.js';
import { Stage } from './stage.js';
import { Story, seconds } from './story.js';

const SCRIPTED_TIMEOUT_MS = 120_000;
const LIVE_TIMEOUT_MS = 600_000;
const INTERRUPTED = 130;
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const INPUT = 'Pay the expense reports of June 2026.';

export interface DemoOptions {
  /** Null: the scripted one. */
  readonly model: string | null;
  readonly connect: (url: string, token: string) => DemoClient;
}

/** Runs the demo and resolves to its exit code: 0 only if everything held that it claims. */
export async function runDemo(options: DemoOptions): Promise<number> {
  const story = new Story();
  introduce(story, options.model);
  const interrupted = new AbortController();
  const interrupt = (): void => interrupted.abort();
  // Kept until everything is cleaned up: without a listener of ours, that of the Agents SDK ends the process at once.
  for (const name of STOP_SIGNALS) process.on(name, interrupt);
  const timeout = AbortSignal.timeout(options.model === null ? SCRIPTED_TIMEOUT_MS : LIVE_TIMEOUT_MS);
  const place = await makePlace(options.model);
  const server = new DemoServer(place);
  // The process also ends where nothing can be waited for, such as when the reader of its output goes away.
  const leaveNothing = (): void => {
    server.end();
    removePlaceNow(place);
  };
  process.on('exit', leaveNothing);
  const signal = AbortSignal.any([interrupted.signal, timeout]);
  try {
    return await Promise.race([perform(options, story, place, server, signal), rejectWhen(signal)]);
  } catch (error) {
    if (interrupted.signal.aborted) return INTERRUPTED;
    if (server.log !== '') story.line(`The server logged:\n${server.log.trimEnd()}`, 'quiet');
    if (timeout.aborted) throw new HoldfastError('run_failed', 'The demo took too long and was ended.');
    throw error;
  } finally {
    await server.kill();
    await removePlace(place);
    process.off('exit', leaveNothing);
    for (const name of STOP_SIGNALS) process.off(name, interrupt);
  }
}

const rejectWhen = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

function introduce(story: Story, model: string | null): void {
  story.line('Holdfast demo: an agent pays expense reports, and its server is killed three');
  story.line('times. Nothing is lost, and no payment is made twice.');
  if (model === null) {
    story.line('The model is scripted: it follows fixed rules on what the tools give it, so no');
    story.line('key is needed. A live one: npm run demo -- --model ollama/<name>');
  } else story.line(`The model is ${model}, live: it may do other things than the script does.`);
  story.line();
}

async function perform(
  { model, connect }: DemoOptions,
  story: Story,
  place: Place,
  server: DemoServer,
  signal: AbortSignal,
): Promise<number> {
  story.tell('server', 'starts; the first start of a server makes its database');
  const began = performance.now();
  const url = await server.start(signal);
  story.tell('server', `up on PGlite after ${seconds(performance.now() - began)}: ${url}`);
  const client = connect(url, tokenIn(place));
  const { id } = await client.startRun({ agent: 'treasurer', input: INPUT }, { key: randomUUID() });
  story.tell('run', `${id}: "${INPUT}"`);
  const stage = new Stage({ client, server, place, story, signal }, id);
  await stage.play();

  const run = await client.getRun(id);
  showAnswer(story, run);
  for (const command of ['trajectory', 'verify']) {
    story.heading(`$ holdfast ${command} ${id}`);
    story.block(await server.command(url, command, id));
  }
  const payments = paymentsIn(place);
  showPayments(story, payments);
  const evidence = { run, events: stage.events, report: await client.verifyRun(id), payments, killed: stage.killed };
  const ledger = parseLedger(readFileSync(join(demoFilesDir(), 'ledger.csv'), 'utf8'));
  const problems = [...problemsOf(evidence), ...(model === null ? scriptedProblemsOf(evidence, ledger) : [])];
  showVerdict(story, problems, model === null ? [] : notesOf(evidence));
  await server.stop();
  return problems.length === 0 ? 0 : 1;
}

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
