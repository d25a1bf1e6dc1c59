import type { DecisionRequest, InterruptionView } from '../core/interruptions/interruption.js';
import type { JsonValue } from '../core/json.js';
import type { CallOutcome } from '../core/log/call-outcome.js';
import type { EventData, RunEvent } from '../core/log/event.js';
import type { DemoClient } from './client.js';
import { amountText } from './ledger.js';
import { dataOf, type Kill, type Moment, momentOf } from './moment.js';
import { type PaymentLine, payInput } from './pay.js';
import { type Place, paymentsIn } from './place.js';
import type { DemoServer } from './server.js';
import { LINE_CHARACTERS, type Story, seconds } from './story.js';

export interface Props {
  readonly client: DemoClient;
  readonly server: DemoServer;
  readonly place: Place;
  readonly story: Story;
  readonly signal: AbortSignal;
}

/** One run, from its start to its end, through kills, restarts and decisions. */
export class Stage {
  readonly events: RunEvent[] = [];
  readonly killed = new Set<Kill>();
  readonly #props: Props;
  readonly #runId: string;
  readonly #decisions = new Decisions();
  readonly #narrator: Narrator;
  #killedAt: number | null = null;

  constructor(props: Props, runId: string) {
    this.#props = props;
    this.#narrator = new Narrator(props.story);
    this.#runId = runId;
  }

  async play(): Promise<void> {
    for (;;) {
      const moment = await this.#watch();
      if (moment.type === 'over') return;
      if (moment.type === 'kill') await this.#killAndRestart(moment.kill, moment.text);
      if (moment.type === 'paused' || (moment.type === 'kill' && moment.kill === 'paused')) await this.#decide();
    }
  }

  /** Follows the log, each event once across all restarts, until something is to do. */
  async #watch(): Promise<Moment> {
    const { client, signal, place } = this.#props;
    const watch = {
      killed: this.killed,
      payments: () => paymentsIn(place),
      approvalWaits: async () => (await this.#pending()).some(({ reason }) => reason.code !== 'unknown_effect'),
    };
    for await (const event of client.streamEvents(this.#runId, this.events.length, signal)) {
      this.events.push(event);
      this.#tellRecovery();
      this.#narrator.tell(event);
      const moment = await momentOf(event, watch);
      if (moment !== null) return moment;
    }
    return { type: 'over' };
  }

  #tellRecovery(): void {
    if (this.#killedAt === null) return;
    this.#props.story.tell(
      'recovered',
      `the run goes on, ${seconds(performance.now() - this.#killedAt)} after the kill`,
      'good',
    );
    this.#killedAt = null;
  }

  async #killAndRestart(kill: Kill, text: string): Promise<void> {
    const { server, story, signal, client } = this.#props;
    story.tell('KILL -9', text, 'bad');
    await server.kill();
    this.killed.add(kill);
    const killedAt = performance.now();
    await server.start(signal);
    const ready = `the server is back after ${seconds(performance.now() - killedAt)}`;
    if (kill !== 'paused') {
      story.tell('restart', ready);
      this.#killedAt = killedAt;
      return;
    }
    const { status, interruptions } = await client.getRun(this.#runId);
    story.tell('restart', `${ready}; the run is still ${status}; decisions awaited: ${interruptions.length}`, 'good');
  }

  async #decide(): Promise<void> {
    const { client, story, place } = this.#props;
    for (const one of await this.#pending()) {
      story.tell('question', one.reason.text);
      const { request, why } = this.#decisions.decide(one, paymentsIn(place));
      story.tell('decision', `over HTTP: ${request.verdict} (${why})`);
      await client.decide(one.id, request);
    }
  }

  #pending = async () => {
    const { client } = this.#props;
    return (await client.listInterruptions({ run: this.#runId, status: 'pending', limit: 200 })).items;
  };
}

export const REJECTION = 'The invoice of the conference is missing. Hand it in, then ask again.';

/** Decides by rules: the first approval is given, the second refused, a question is answered from the payments file. */
class Decisions {
  #approvals = 0;

  decide(
    one: InterruptionView,
    payments: readonly PaymentLine[],
  ): { readonly request: DecisionRequest; readonly why: string } {
    if (one.reason.code === 'unknown_effect') return answerFrom(one, payments);
    this.#approvals += 1;
    if (this.#approvals === 2) {
      return { request: { verdict: 'reject', message: REJECTION, digest: one.digest }, why: REJECTION };
    }
    return { request: { verdict: 'approve', digest: one.digest }, why: 'the first approval is given' };
  }
}

/** The file says whether it happened: then its line is the result, and otherwise the payment may be made. */
function answerFrom(one: InterruptionView, payments: readonly PaymentLine[]): ReturnType<Decisions['decide']> {
  const line = payments.find(({ callId }) => callId === one.callId);
  if (line === undefined) {
    const request = { verdict: 'approve', digest: one.digest } as const;
    return { request, why: 'the payments file has no such line: it did not happen, run it' };
  }
  const { callId: _ofUs, ...value } = line;
  const request = { verdict: 'answer', value, digest: one.digest } as const;
  return { request, why: 'the payments file has its line: it did happen, here is its result' };
}

/** Tells of each event that a reader wants to see. */
class Narrator {
  readonly #story: Story;
  readonly #told = new Set<string>();

  constructor(story: Story) {
    this.#story = story;
  }

  tell(event: RunEvent): void {
    const asked = dataOf('model.requested', event);
    if (asked !== null) this.#story.tell('model', `is asked, turn ${asked.turn}`, 'quiet');
    const checked = dataOf('call.checked', event);
    if (checked !== null) this.#call(checked);
    const finished = dataOf('call.finished', event);
    if (finished !== null) this.#story.tell('result', resultText(finished.tool, finished.outcome), 'quiet');
    if (event.kind === 'run.paused') this.#story.tell('paused', 'the run waits in the database and nowhere else');
    const failed = dataOf('run.failed', event);
    if (failed !== null) this.#story.tell('failed', `${failed.error.message} (${failed.error.code})`, 'bad');
    if (event.kind === 'run.completed') this.#story.tell('done', 'the run is complete', 'good');
  }

  /** A call that was decided on is checked again before it runs. */
  #call({ callId, tool, arguments: args, decision, reason }: EventData<'call.checked'>): void {
    if (this.#told.has(callId)) return;
    this.#told.add(callId);
    const ends = {
      allow: '',
      ask: ': needs an approval',
      deny: `: denied, ${reason}`,
      invalid: `: refused, ${reason}`,
    };
    this.#story.tell('call', `${callText(tool, args)}${ends[decision]}`);
  }
}

function callText(tool: string, args: JsonValue): string {
  const payment = tool === 'pay' ? payInput.safeParse(args).data : undefined;
  if (payment === undefined) return inOneLine(`${tool} ${jsonOf(args)}`);
  return `pay ${amountText(payment.amount, payment.currency)} to ${payment.payee}`;
}

function resultText(tool: string, outcome: CallOutcome): string {
  if (outcome.type === 'output') return inOneLine(`${tool}: ${jsonOf(outcome.output)}`);
  return `${tool}: ${outcome.type === 'error' ? 'failed' : outcome.why}: ${outcome.message}`;
}

const inOneLine = (text: string): string =>
  text.length > LINE_CHARACTERS ? `${text.slice(0, LINE_CHARACTERS - 1)}…` : text;

/** Paths without their directories, which say nothing here. */
const jsonOf = (value: JsonValue): string =>
  JSON.stringify(value, (_key, item: unknown) =>
    typeof item === 'string' && item.startsWith('/') ? `…/${item.split('/').at(-1)}` : item,
  );
