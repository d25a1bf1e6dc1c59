/** What stands for every further value. */
export const OTHER = 'other';
const LONGEST = 100;

/**
 * The values of a label that configurations and models choose. Each combination of labels is a series that stays: so many values are
 * told apart, the first that came, and all further ones are `other`.
 */
export class BoundedLabel {
  readonly #known = new Set<string>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  of(value: string): string {
    if (this.#known.has(value)) return value;
    if (value.length > LONGEST || value === '' || this.#known.size >= this.#most) return OTHER;
    this.#known.add(value);
    return value;
  }
}
