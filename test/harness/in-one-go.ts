/** Does work that stops on its way without any stop. */
export function inOneGo<T>(work: Iterator<void, T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}
