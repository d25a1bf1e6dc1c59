import { formsOf, withoutForms } from './known-secrets.js';
import { ModelCallError } from './model-call-error.js';

/** Of a whole answer, so that a server that never ends it costs a bounded time and memory. */
const MAX_BYTES = 64 * 1024 * 1024;
/** What is shorter may be a word that a model says. */
const MIN_CHARS = 16;

/**
 * The body of an answer as it came, piece by piece, without the secrets that the request carried. It fails with a
 * TimeoutError when nothing comes for `timeoutMs`, and with a ModelCallError when nothing came at all, and beyond 64 MiB.
 */
export function cleanAnswer(secrets: readonly string[], timeoutMs: number): TransformStream<Uint8Array, Uint8Array> {
  const forms = secrets.filter(({ length }) => length >= MIN_CHARS).flatMap(formsOf);
  let held = '';
  let sizeBytes = 0;
  let timer: NodeJS.Timeout | undefined;
  const watch = (controller: TransformStreamDefaultController<Uint8Array>): void => {
    clearTimeout(timer);
    timer = setTimeout(() => controller.error(silent(timeoutMs)), timeoutMs).unref();
  };
  return new TransformStream({
    start: watch,
    transform: (bytes, controller) => {
      watch(controller);
      sizeBytes += bytes.length;
      if (sizeBytes > MAX_BYTES)
        throw new ModelCallError('model_failed', 'The answer is larger than 64 MiB.', { retryable: false });
      if (forms.length === 0) return controller.enqueue(bytes);
      // A secret is ASCII: one character for each byte leaves all else as it is.
      const text = withoutForms(held + Buffer.from(bytes).toString('latin1'), forms);
      const keep = beginningAtEnd(text, forms);
      held = text.slice(text.length - keep);
      if (text.length > keep) controller.enqueue(Buffer.from(text.slice(0, text.length - keep), 'latin1'));
    },
    flush: (controller) => {
      clearTimeout(timer);
      if (sizeBytes === 0) throw new ModelCallError('model_failed', 'The answer is empty.', { retryable: true });
      if (held !== '') controller.enqueue(Buffer.from(held, 'latin1'));
    },
  });
}

/** How many characters at the end may be the beginning of a secret. */
function beginningAtEnd(text: string, forms: readonly string[]): number {
  let longest = 0;
  for (const form of forms) {
    for (let length = Math.min(form.length - 1, text.length); length > longest; length--) {
      if (text.charCodeAt(text.length - length) === form.charCodeAt(0) && form.startsWith(text.slice(-length))) {
        longest = length;
      }
    }
  }
  return longest;
}

function silent(timeoutMs: number): Error {
  const error = new Error(`The server said nothing for ${timeoutMs} ms.`);
  error.name = 'TimeoutError';
  return error;
}
