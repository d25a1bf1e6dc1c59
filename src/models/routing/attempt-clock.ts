import { abortError } from '../providers/abort.js';

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
