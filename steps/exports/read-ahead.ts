/**
 * Takes the next of a series while something is done with the one before. What fails is thrown in its turn, and when nobody
 * wants more, what is on its way is waited for.
 */
export async function* readAhead<T>(series: AsyncIterable<T>): AsyncIterable<T> {
  const source = series[Symbol.asyncIterator]();
  const ask = (): Promise<IteratorResult<T>> => {
    const asked = source.next();
    // It is looked at later.
    asked.catch(() => undefined);
    return asked;
  };
  let next = ask();
  try {
    for (;;) {
      const { done, value } = await next;
      if (done === true) return;
      next = ask();
      yield value;
    }
  } finally {
    await next.catch(() => undefined);
    await source.return?.();
  }
}
