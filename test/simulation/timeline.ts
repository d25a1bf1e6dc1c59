type Work = () => Promise<unknown>;

interface Due {
  readonly at: number;
  /** What is due at the same time comes in the order in which it was planned. */
  readonly nth: number;
  readonly work: Work;
}

const isBefore = (one: Due, other: Due): boolean => one.at < other.at || (one.at === other.at && one.nth < other.nth);

/** What happens when, in milliseconds of a clock that only this moves: a binary heap. */
export class Timeline {
  now = 0;
  readonly #heap: Due[] = [];
  #planned = 0;

  at(at: number, work: Work): void {
    const due = { at: Math.max(at, this.now), nth: this.#planned++, work };
    let place = this.#heap.push(due) - 1;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const other = this.#heap[above];
      if (other === undefined || isBefore(other, due)) break;
      this.#heap[place] = other;
      place = above;
    }
    this.#heap[place] = due;
  }

  /** What is due next, whose time it is from now on; undefined: nothing is. */
  next(): Work | undefined {
    const [first] = this.#heap;
    const last = this.#heap.pop();
    if (first === undefined || last === undefined) return undefined;
    if (this.#heap.length > 0) this.#sink(last);
    this.now = first.at;
    return first.work;
  }

  #sink(due: Due): void {
    let place = 0;
    for (;;) {
      const [left, right] = [this.#heap[2 * place + 1], this.#heap[2 * place + 2]];
      if (left === undefined || (!isBefore(left, due) && (right === undefined || !isBefore(right, due)))) break;
      const isRight = right !== undefined && isBefore(right, left);
      this.#heap[place] = isRight ? right : left;
      place = 2 * place + (isRight ? 2 : 1);
    }
    this.#heap[place] = due;
  }
}
