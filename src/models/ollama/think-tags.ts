const OPEN = '<think>';
const CLOSE = '</think>';

/** Text of a model, told apart. */
export interface ThinkPart {
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
