import type { CallOutcome, EventData, RunEvent } from '../core/event.js';
import type { JsonValue } from '../core/json.js';
import { dataOf } from './moment.js';
import { amountText } from './money.js';
import { payInput } from './pay.js';
import type { Story } from './story.js';

const VALUE_CHARACTERS = 52;

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
    if (finished !== null) this.#story.tell('result', `${finished.tool}: ${outcomeText(finished.outcome)}`, 'quiet');
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
  if (payment === undefined) return `${tool} ${short(args)}`;
  return `pay ${amountText(payment.amount, payment.currency)} to ${payment.payee}`;
}

function outcomeText(outcome: CallOutcome): string {
  if (outcome.type === 'output') return short(outcome.output);
  return outcome.type === 'error' ? `failed: ${outcome.message}` : `${outcome.why}: ${outcome.message}`;
}

/** A value as JSON, cut, its paths without their directories. */
function short(value: JsonValue): string {
  const text = JSON.stringify(value, (_key, item: unknown) =>
    typeof item === 'string' && item.startsWith('/') ? `…/${item.split('/').at(-1)}` : item,
  );
  return text.length > VALUE_CHARACTERS ? `${text.slice(0, VALUE_CHARACTERS)}…` : text;
}
