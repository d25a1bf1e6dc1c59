interface Asked<K, T> {
  readonly what: K;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Does what many ask for at once together: what is asked for while some of it is done waits, and is done in one go, at most `atMost` and of one
 * `key` once. What `doAll` gives no answer for, and all of it when it throws, is done by `doOne`, each by itself, which holds up nothing else.
 */
export function together<K, T>(terms: {
  readonly atMost: number;
  readonly key: (what: K) => string;
  readonly doAll: (all: readonly K[]) => Promise<ReadonlyMap<string, () => T>>;
  readonly doOne: (what: K) => Promise<T>;
}): (what: K) => Promise<T> {
  const { atMost, key, doAll, doOne } = terms;
  const waiting: Asked<K, T>[] = [];
  let isAtWork = false;

  const takeBatch = (): readonly Asked<K, T>[] => {
    const batch = new Map<string, Asked<K, T>>();
    const later: Asked<K, T>[] = [];
    for (const one of waiting.splice(0)) {
      if (batch.size < atMost && !batch.has(key(one.what))) batch.set(key(one.what), one);
      else later.push(one);
    }
    waiting.push(...later);
    return [...batch.values()];
  };

  const work = async (): Promise<void> => {
    isAtWork = true;
    while (waiting.length > 0) {
      const batch = takeBatch();
      // Each that is done by itself says what is wrong with it.
      const done = await doAll(batch.map(({ what }) => what)).catch(() => new Map<string, () => T>());
      for (const { what, resolve, reject } of batch) {
        const answer = done.get(key(what));
        if (answer === undefined) doOne(what).then(resolve, reject);
        else Promise.resolve().then(answer).then(resolve, reject);
      }
    }
    isAtWork = false;
  };

  return (what) =>
    new Promise<T>((resolve, reject) => {
      waiting.push({ what, resolve, reject });
      // Those who ask in the same moment are together from the first on.
      if (!isAtWork) queueMicrotask(() => (isAtWork ? undefined : void work()));
    });
}
