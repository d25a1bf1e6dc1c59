/** What may be asked for several times and is done the first time. */
export function once<A extends readonly unknown[]>(work: (...args: A) => void): (...args: A) => void {
  let done = false;
  return (...args) => {
    if (!done) {
      done = true;
      work(...args);
    }
  };
}
