import { argumentsText } from './ollama-arguments.js';
import type { OllamaChunk } from './ollama-wire.js';

const OPEN = '<think>';
const CLOSE = '</think>';

/** Text of a model, told apart. */
interface ThinkPart {
  readonly thinking: string;
  readonly text: string;
}

/**
 * Takes `<think>…</think>` out of the beginning of a text that arrives in pieces. Only a tag that opens the answer counts;
 * everything else is given on exactly as it came.
 */
export class ThinkTags {
  /** `after`: behind the closing tag, where blanks are of no answer. */
  #state: 'start' | 'thinking' | 'after' | 'text' = 'start';
  /** What cannot be told apart yet: a tag that may go on in the next piece. */
  #held = '';

  add(piece: string): ThinkPart {
    this.#held += piece;
    if (this.#state === 'start') this.#begin();
    const thinking = this.#state === 'thinking' ? this.#think() : '';
    if (this.#state === 'after') this.#skipBlanks();
    return { thinking, text: this.#state === 'text' ? this.#take(this.#held.length) : '' };
  }

  /** What was still held back when the answer ended. */
  end(): ThinkPart {
    const rest = this.#take(this.#held.length);
    return this.#state === 'thinking' ? { thinking: rest, text: '' } : { thinking: '', text: rest };
  }

  #begin(): void {
    const content = this.#held.trimStart();
    if (content.startsWith(OPEN)) {
      this.#held = content.slice(OPEN.length);
      this.#state = 'thinking';
    } else if (!OPEN.startsWith(content)) {
      this.#state = 'text';
    }
  }

  #think(): string {
    const close = this.#held.indexOf(CLOSE);
    if (close === -1) return this.#take(this.#held.length - partialEnd(this.#held));
    const thinking = this.#take(close);
    this.#held = this.#held.slice(CLOSE.length);
    this.#state = 'after';
    return thinking;
  }

  #skipBlanks(): void {
    this.#held = this.#held.trimStart();
    if (this.#held !== '') this.#state = 'text';
  }

  #take(length: number): string {
    const taken = this.#held.slice(0, length);
    this.#held = this.#held.slice(length);
    return taken;
  }
}

/** How many characters at the end may be the beginning of the closing tag. */
function partialEnd(text: string): number {
  for (let length = Math.min(CLOSE.length - 1, text.length); length > 0; length--) {
    if (CLOSE.startsWith(text.slice(-length))) return length;
  }
  return 0;
}

export interface AnsweredCall {
  /** As the server gave it; null: it gave none. */
  readonly id: string | null;
  readonly name: string;
  readonly arguments: string;
  readonly repaired: boolean;
}

/** Gathers the chunks of one answer. Tool calls are kept in the order in which they came, whatever index they carry. */
export class OllamaAnswer {
  readonly #text: string[] = [];
  readonly #thinking: string[] = [];
  readonly #logprobs: unknown[] = [];
  readonly #tags: ThinkTags | null;
  readonly calls: AnsweredCall[] = [];
  #last: OllamaChunk | null = null;

  /** `extractThinking`: `<think>` at the beginning of the text is thinking. */
  constructor(extractThinking: boolean) {
    this.#tags = extractThinking ? new ThinkTags() : null;
  }

  /** Gives what is new of the text and of the thinking. */
  add(chunk: OllamaChunk): { readonly text: string; readonly thinking: string } {
    const { message } = chunk;
    const thoughts = this.#thinking.length;
    this.#keep(this.#thinking, message?.thinking);
    for (const call of message?.tool_calls ?? []) {
      const { text, repaired } = argumentsText(call.function.arguments);
      this.calls.push({ id: call.id || null, name: call.function.name, arguments: text, repaired });
    }
    for (const item of chunk.logprobs ?? []) this.#logprobs.push(item);
    let text = this.#untagged(message?.content ?? '');
    if (chunk.done === true) {
      this.#last = chunk;
      text += this.#rest();
    }
    this.#keep(this.#text, text);
    return { text, thinking: this.#thinking.slice(thoughts).join('') };
  }

  get text(): string {
    return this.#text.join('');
  }

  get thinking(): string {
    return this.#thinking.join('');
  }

  get logprobs(): readonly unknown[] {
    return this.#logprobs;
  }

  /** The line with the reason and the counts. */
  get last(): OllamaChunk {
    return this.#last ?? {};
  }

  #keep(parts: string[], part: string | null | undefined): void {
    if (part !== null && part !== undefined && part !== '') parts.push(part);
  }

  #untagged(piece: string): string {
    if (this.#tags === null || piece === '') return piece;
    const { thinking, text } = this.#tags.add(piece);
    this.#keep(this.#thinking, thinking);
    return text;
  }

  #rest(): string {
    if (this.#tags === null) return '';
    const { thinking, text } = this.#tags.end();
    this.#keep(this.#thinking, thinking);
    return text;
  }
}
