import type { Thought } from './dialect.js';
import { isFields, textIn, type UnknownFields } from './unknown-fields.js';

/** Puts the reasoning of one answer together, in whatever fields it comes. */
export class ChatThoughts {
  readonly #texts: string[] = [];
  readonly #details: Record<string, unknown>[] = [];
  #field: Thought['field'] = null;

  /** Takes the reasoning of a message or of a piece of one, and of parts of its content. Gives what is new of the text. */
  add(message: UnknownFields, inContent: string): string {
    const details = Array.isArray(message['reasoning_details']) ? message['reasoning_details'].filter(isFields) : [];
    for (const detail of details) this.#addDetail(detail);
    // Some give the same text under both names.
    const field = (['reasoning', 'reasoning_content'] as const).find((name) => textIn(message, name) !== '');
    if (field !== undefined) this.#field ??= field;
    const said = field === undefined ? '' : textIn(message, field);
    const text =
      said || inContent || details.map((detail) => textIn(detail, 'text') || textIn(detail, 'summary')).join('');
    if (text !== '') this.#texts.push(text);
    return text;
  }

  /** Null: the model said nothing of what it thought. */
  get thought(): Thought | null {
    const text = this.#texts.join('');
    if (text === '' && this.#details.length === 0) return null;
    return { text, field: this.#field, details: this.#details };
  }

  /** A stream gives the text of one entry in many pieces; the signature comes with the last one. */
  #addDetail(detail: UnknownFields): void {
    const last = this.#details.at(-1);
    const name =
      detail['type'] === 'reasoning.text' ? 'text' : detail['type'] === 'reasoning.summary' ? 'summary' : null;
    if (name === null || last === undefined || last['type'] !== detail['type'] || last['index'] !== detail['index']) {
      this.#details.push({ ...detail });
      return;
    }
    const given = Object.fromEntries(Object.entries(detail).filter(([, value]) => value !== null));
    Object.assign(last, given, { [name]: textIn(last, name) + textIn(detail, name) });
  }
}
