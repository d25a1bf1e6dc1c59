import { z } from 'zod';
import { failureText } from '../failures/failure-text.js';
import { ModelCallError } from '../failures/model-call-error.js';

/** Longer than any answer of one line: what exceeds it is no answer of Ollama. */
const MAX_LINE_CHARS = 16 * 1024 * 1024;
/** Of a whole answer, so that a server that never ends it costs a bounded time and memory. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

const line = z.looseObject({ done: z.boolean().nullish(), error: z.unknown().optional() });

/**
 * Passes on the lines of an answer, whole and not blank, up to the one that is done. The stream fails with a ModelCallError
 * for a line that is no JSON object, for the server's `{"error": …}` and for an answer that ends before it is done: the
 * parser of the `ollama` package would print the first to the console and lose the others.
 */
export function ollamaLines(): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let held = '';
  let isDone = false;
  let sizeBytes = 0;

  const pass = (text: string, controller: TransformStreamDefaultController<Uint8Array>): void => {
    if (isDone || text.trim() === '') return;
    isDone = isLast(text);
    controller.enqueue(encoder.encode(`${text.trim()}\n`));
  };
  const take = (text: string, controller: TransformStreamDefaultController<Uint8Array>): void => {
    const parts = text.split('\n');
    const end = parts.pop() ?? '';
    for (const part of parts) {
      pass(held + part, controller);
      held = '';
    }
    held += end;
    if (held.length > MAX_LINE_CHARS) throw tooLong('a line is longer than any answer');
  };
  return new TransformStream({
    transform: (bytes, controller) => {
      sizeBytes += bytes.length;
      if (sizeBytes > MAX_ANSWER_BYTES) throw tooLong('it is larger than 64 MiB');
      take(decoder.decode(bytes, { stream: true }), controller);
    },
    flush: (controller) => {
      take(`${decoder.decode()}\n`, controller);
      if (!isDone) throw broken('it ended before it was done', '');
    },
  });
}

function isLast(text: string): boolean {
  const parsed = line.safeParse(json(text));
  if (!parsed.success) throw broken('a line of it is not a JSON object', text);
  const { done, error } = parsed.data;
  if (error !== undefined && error !== null) {
    const said = typeof error === 'string' ? error : JSON.stringify(error);
    throw new ModelCallError('model_failed', failureText(said), { retryable: true });
  }
  return done === true;
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const tooLong = (why: string) =>
  new ModelCallError('model_failed', `The answer is broken: ${why}.`, { retryable: false });

const broken = (why: string, text: string) =>
  new ModelCallError('model_failed', `The answer is broken: ${why}${text === '' ? '' : `: ${failureText(text)}`}.`, {
    retryable: true,
  });
