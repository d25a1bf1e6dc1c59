/** Longer than any line that only keeps a connection open. */
const KEEP_ALIVE_MAX = 64;

/** A ping of Anthropic's, which comes while nothing is said. */
const PING = /^(?:event:\s*ping\s*$|data:\s*\{\s*"type"\s*:\s*"ping")/;

/** How the text of an answer is divided: as an event stream, as one JSON text a line, or not at all. */
export type AnswerForm = 'events' | 'lines' | 'whole';

export function answerForm(contentType: string | null): AnswerForm {
  if (contentType === null) return 'whole';
  if (/^text\/event-stream\b/i.test(contentType)) return 'events';
  return /^application\/(?:x-ndjson|ndjson|jsonl|x-jsonlines|stream\+json)\b/i.test(contentType) ? 'lines' : 'whole';
}

/**
 * Tells what a server says from what only keeps a connection open: blanks in any answer; comments, pings and lines without
 * an end in an event stream.
 */
export class SaidLines {
  readonly #form: AnswerForm;
  /** The beginning of the line that has not ended. */
  #line = '';

  constructor(form: AnswerForm) {
    this.#form = form;
  }

  /** Whether the next piece of an answer says something. */
  hear(piece: string): boolean {
    if (this.#form !== 'events') return /\S/.test(piece);
    const lines = piece.split(/[\r\n]/);
    const rest = lines.pop() ?? '';
    let said = false;
    for (const line of lines) {
      said ||= isSaid(this.#line + line);
      this.#line = '';
    }
    if (this.#line.length < KEEP_ALIVE_MAX) this.#line += rest.slice(0, KEEP_ALIVE_MAX);
    return said || (rest !== '' && this.#line.length >= KEEP_ALIVE_MAX && isSaid(this.#line));
  }
}

const isSaid = (line: string): boolean => line.trim() !== '' && !line.startsWith(':') && !PING.test(line);
