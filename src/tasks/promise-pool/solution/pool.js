async function pool(items, work, { limit = 4, retries = 0, signal = null } = {}) {
  if (!Number.isInteger(limit) || limit < 1) throw new RangeError('limit is no whole number from 1');
  const control = new AbortController();
  const results = [];
  const source = items[Symbol.iterator]();
  let failure = null;
  const fail = (error) => {
    if (failure !== null) return;
    failure = { error };
    control.abort(error);
  };
  const stop = () => fail(signal.reason);
  if (signal?.aborted) stop();
  signal?.addEventListener('abort', stop);

  async function one(item, index) {
    for (let attempt = 0; failure === null; attempt++) {
      try {
        results[index] = await work(item, { signal: control.signal, attempt });
        return;
      } catch (error) {
        if (attempt >= retries) fail(error);
      }
    }
  }

  let count = 0;
  async function worker() {
    while (failure === null) {
      const { value, done } = source.next();
      if (done) return;
      await one(value, count++);
    }
  }

  try {
    await Promise.all(Array.from({ length: limit }, worker));
  } finally {
    signal?.removeEventListener('abort', stop);
  }
  if (failure !== null) throw failure.error;
  return results;
}

module.exports = { pool };
