/** What was begun on the way to an engine that works, with the end of each: when a later part fails, nothing is left at work. */
export class Begun {
  readonly #ends: (() => unknown)[] = [];

  /** Remembers how what was begun just now ends. */
  endsWith(end: () => unknown): void {
    this.#ends.push(end);
  }

  /** Ends all of it, the last first. One that cannot be ended keeps none of the others. */
  async end(): Promise<void> {
    for (const end of this.#ends.splice(0).reverse()) {
      try {
        await end();
      } catch {
        // The error that kept the engine from starting is thrown.
      }
    }
  }
}
