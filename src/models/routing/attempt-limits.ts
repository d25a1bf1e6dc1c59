import type { Model, ModelRequest, StreamEvent } from '@openai/agents';
import { ModelCallError } from '../failures/model-call-error.js';
import { abortError } from '../providers/abort.js';
import { RawDeltas } from '../providers/raw-deltas.js';

/**
 * The signal of one attempt: it fires with that of its request, or when its time is over. To be ended, so that nothing is left at
 * the signal of the request. (`AbortSignal.any` does the same for many times the cost.)
 */
export class AttemptClock {
  readonly #controller = new AbortController();
  readonly #request: AbortSignal | undefined;
  readonly #giveUp = (): void => {
    if (this.#request !== undefined) this.#controller.abort(abortError(this.#request));
  };
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(request: AbortSignal | undefined) {
    this.#request = request;
    if (request?.aborted === true) this.#giveUp();
    else request?.addEventListener('abort', this.#giveUp, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether its time was over before the request was. */
  get isOver(): boolean {
    return this.#isOver;
  }

  bound(timeoutMs: number): void {
    this.#timer = setTimeout(() => {
      this.#isOver = !this.#controller.signal.aborted;
      this.#controller.abort(new Error('The time of the attempt is over.'));
    }, timeoutMs);
  }

  /** Its time is not bounded any more. */
  unbound(): void {
    clearTimeout(this.#timer);
  }

  end(): void {
    this.unbound();
    this.#request?.removeEventListener('abort', this.#giveUp);
  }
}

/** A stream whose first token has come: no one else can answer any more. */
interface BegunStream {
  /** What came up to the first token. */
  readonly held: readonly StreamEvent[];
  readonly rest: AsyncIterator<StreamEvent>;
}

/** Before its first token a stream says little; one that says more is taken for begun. */
const MOST_HELD = 100;

/** Asks for a stream and waits for its first token: text, reasoning, a call, or a whole answer. Throws what the model throws before. */
export async function firstToken(model: Model, request: ModelRequest): Promise<BegunStream> {
  const rest = model.getStreamedResponse(request)[Symbol.asyncIterator]();
  const raw = new RawDeltas();
  const held: StreamEvent[] = [];
  for (;;) {
    const { done, value } = await rest.next();
    if (done === true) {
      throw new ModelCallError('model_failed', 'The stream of the model ended before its answer began.', {
        retryable: true,
      });
    }
    held.push(value);
    if (isToken(value, raw) || held.length >= MOST_HELD) return { held, rest };
  }
}

function isToken(event: StreamEvent, raw: RawDeltas): boolean {
  if (event.type === 'output_text_delta') return event.delta !== '';
  if (event.type === 'model') return raw.read(event.event).length > 0;
  return event.type === 'response_done';
}
