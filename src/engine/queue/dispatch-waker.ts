/**
 * The moments after the look that a wake takes, at which the dispatcher looks again, in milliseconds between them: a slot is
 * released a moment after a workflow returns, and a look that is under way when it is woken does not look once more by itself.
 */
const WAKES_MS = [2, 8, 30, 100, 300];

/** What follows on a wake: the dispatcher is made to look at once, and again until it does. */
export class DispatchWaker {
  readonly #look: () => void;
  #next = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(look: () => void) {
    this.#look = look;
  }

  /** However often it is woken, there is one chain of looks, which begins again. */
  readonly wake = (): void => {
    clearTimeout(this.#timer);
    this.#next = 0;
    this.#lookAndGoOn();
  };

  /** The dispatcher begins to look, with room for what it may find: it sees everything that it was woken for up to now. */
  taken(): void {
    clearTimeout(this.#timer);
    this.#next = WAKES_MS.length;
  }

  #lookAndGoOn(): void {
    this.#look();
    const delay = WAKES_MS[this.#next++];
    if (delay !== undefined) this.#timer = setTimeout(() => this.#lookAndGoOn(), delay).unref();
  }
}
