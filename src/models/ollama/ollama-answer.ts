import { argumentsText } from './ollama-arguments.js';
import type { OllamaChunk } from './ollama-wire.js';
import { ThinkTags } from './think-tags.js';

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
