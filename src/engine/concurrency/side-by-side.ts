/**
 * Works on so many items at once, and gives what comes of them in their order. Whoever stops listening, or hears of a failure, does so when
 * nothing is at work any more.
 */
export async function* sideBySide<T, R>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R, void> {
  const begun: Promise<R>[] = [];
  const begin = (at: number): void => {
    const item = items[at];
    if (item === undefined) return;
    const one = work(item);
    // It is heard of in its turn.
    one.catch(() => undefined);
    begun.push(one);
  };
  try {
    for (let at = 0; at < items.length; at++) {
      while (begun.length < Math.min(items.length, at + atOnce)) begin(begun.length);
      yield await (begun[at] as Promise<R>);
    }
  } finally {
    await Promise.allSettled(begun);
  }
}
