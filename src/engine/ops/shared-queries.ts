/** More tenants than ask at once. */
const REMEMBERED = 1000;

interface Query<T> {
  readonly found: Promise<T>;
  /** When it was over, and how long it took, in milliseconds; null: it is under way. */
  ended: { readonly at: number; readonly tookMs: number } | null;
  /** Whether those who ask while it is under way share it. */
  readonly isShared: boolean;
}

interface Terms<T> {
  readonly query: (tenant: string) => Promise<T>;
  /** For so long what was found is given to others, in milliseconds, by how long it took. */
  readonly keptMs: (tookMs: number) => number;
}

/** What is summed up over many rows of a tenant: one query serves all who ask at once, and shortly after. A failed one serves no one else. */
export class SharedQueries<T> {
  readonly #terms: Terms<T>;
  readonly #known = new Map<string, Query<T>>();

  constructor(terms: Terms<T>) {
    this.#terms = terms;
  }

  async of(tenant: string): Promise<T> {
    const known = this.#known.get(tenant);
    if (known !== undefined && this.#serves(known)) return known.found;
    if (this.#known.size >= REMEMBERED) this.#known.clear();
    const begin = performance.now();
    // Where the last one was kept, this one takes as long.
    const isShared = this.#terms.keptMs(known?.ended?.tookMs ?? 0) > 0;
    const query: Query<T> = { found: this.#terms.query(tenant), ended: null, isShared };
    this.#known.set(tenant, query);
    try {
      return await query.found;
    } catch (error) {
      if (this.#known.get(tenant) === query) this.#known.delete(tenant);
      throw error;
    } finally {
      const at = performance.now();
      query.ended = { at, tookMs: at - begin };
    }
  }

  #serves({ ended, isShared }: Query<T>): boolean {
    if (ended === null) return isShared;
    return performance.now() - ended.at < this.#terms.keptMs(ended.tookMs);
  }
}
