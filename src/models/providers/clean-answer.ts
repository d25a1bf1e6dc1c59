import type { SecretScan } from '../../core/secrets/secret-matcher.js';
import { ModelCallError } from '../failures/model-call-error.js';

/** Longer than any line that only keeps a connection open. */
const KEEP_ALIVE_MAX = 64;

/** A ping of Anthropic's, which comes while nothing is said. */
const PING = /^(?:event:\s*ping\s*$|data:\s*\{\s*"type"\s*:\s*"ping")/;

/** How the text of an answer is divided: as an event stream, as one JSON text a line, or not at all. */
type AnswerForm = 'events' | 'lines' | 'whole';

export function answerForm(contentType: string | null): AnswerForm {
  if (contentType === null) return 'whole';
  if (/^text\/event-stream\b/i.test(contentType)) return 'events';
  return /^application\/(?:x-ndjson|ndjson|jsonl|x-jsonlines|stream\+json)\b/i.test(contentType) ? 'lines' : 'whole';
}

/**
 * Tells what a server says from what only keeps a connection open: blanks in any answer; comments, pings and lines without
 * an end in an event stream.
 */
class SaidLines {
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

/** Of a whole answer, so that a server that never ends it costs a bounded time and memory. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * The body of an answer as it came, piece by piece, without the secrets that `scan` finds. It fails with a
 * TimeoutError when nothing is said for `timeoutMs`, and with a ModelCallError when nothing came at all, and beyond 64 MiB.
 */
export function cleanAnswer(
  scan: SecretScan,
  timeoutMs: number,
  form: AnswerForm = 'whole',
): TransformStream<Uint8Array, Uint8Array> {
  const said = new SaidLines(form);
  let sizeBytes = 0;
  let timer: NodeJS.Timeout | undefined;
  const watch = (controller: TransformStreamDefaultController<Uint8Array>): void => {
    clearTimeout(timer);
    timer = setTimeout(() => controller.error(silent(timeoutMs)), timeoutMs).unref();
  };
  return new TransformStream({
    start: watch,
    transform: (bytes, controller) => {
      // One character for each byte leaves all else as it is.
      const text = Buffer.from(bytes).toString('latin1');
      if (said.hear(text)) watch(controller);
      sizeBytes += bytes.length;
      if (sizeBytes > MAX_BYTES)
        throw new ModelCallError('model_failed', 'The answer is larger than 64 MiB.', { retryable: false });
      const clean = form === 'whole' ? scan.push(text) : cleanLines(scan, text);
      if (clean !== '') controller.enqueue(Buffer.from(clean, 'latin1'));
    },
    flush: (controller) => {
      clearTimeout(timer);
      if (sizeBytes === 0) throw new ModelCallError('model_failed', 'The answer is empty.', { retryable: true });
      const rest = scan.end();
      if (rest !== '') controller.enqueue(Buffer.from(rest, 'latin1'));
    },
  });
}

/** A line of JSON ends where it ends: no secret goes on in the next one, which may come much later. */
function cleanLines(scan: SecretScan, text: string): string {
  let clean = '';
  let start = 0;
  for (let end = text.indexOf('\n') + 1; end > 0; end = text.indexOf('\n', start) + 1) {
    clean += scan.push(text.slice(start, end)) + scan.end();
    start = end;
  }
  return start === text.length ? clean : clean + scan.push(text.slice(start));
}

export function silent(timeoutMs: number): Error {
  const error = new Error(`The server said nothing for ${timeoutMs} ms.`);
  error.name = 'TimeoutError';
  return error;
}
