import type { JsonValue } from '../core/json.js';
import type { CallOutcome } from '../core/log/call-outcome.js';
import type { EventData, RunEvent } from '../core/log/event.js';
import { dataOf } from './moment.js';
import { amountText } from './money.js';
import { payInput } from './pay.js';
import { LINE_CHARACTERS, type Story } from './story.js';

/** Tells of each event that a reader wants to see. */
export class Narrator {
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
