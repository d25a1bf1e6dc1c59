/** A document of a space. */
export interface DocumentName {
  readonly owner: string;
  readonly key: string;
}

const WORD_BITS = 32;

/** The signs of a vector, 32 in a number, the first one highest. */
export type Signs = Uint32Array;

/** From the bits as PostgreSQL sends them: eight in a byte, the first one highest. */
export function signsOfBits(bits: Uint8Array, dimensions: number): Signs {
  const signs = new Uint32Array(Math.ceil(dimensions / WORD_BITS));
  for (let at = 0; at < bits.length && at < signs.length * 4; at++) {
    const word = at >>> 2;
    signs[word] = ((signs[word] ?? 0) | ((bits[at] ?? 0) << (24 - 8 * (at & 3)))) >>> 0;
  }
  return signs;
}

/** The signs of a vector. */
export function signsOfVector(vector: Float32Array): Signs {
  const signs = new Uint32Array(Math.ceil(vector.length / WORD_BITS));
  for (const [at, one] of vector.entries()) {
    const word = at >>> 5;
    if (one < 0) signs[word] = ((signs[word] ?? 0) | (1 << (31 - (at & 31)))) >>> 0;
  }
  return signs;
}

/** How many bits of a number of 32 bits are set. */
function ones(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

const FIRST_PLACES = 1024;
/** What a document takes in a table beside its signs and its names, in bytes. */
const ENTRY_BYTES = 120;

const nameOf = ({ owner, key }: DocumentName): string => `${owner}\0${key}`;
const bytewise = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** Signs of the vectors of documents, in memory. Says which of them agree best with those of a vector. */
export class SignTable {
  readonly #dimensions: number;
  readonly #words: number;
  readonly #names: DocumentName[] = [];
  readonly #places = new Map<string, number>();
  #signs: Uint32Array;

  constructor(dimensions: number) {
    this.#dimensions = dimensions;
    this.#words = Math.ceil(dimensions / WORD_BITS);
    this.#signs = new Uint32Array(FIRST_PLACES * this.#words);
  }

  get size(): number {
    return this.#names.length;
  }

  /** About how many bytes it takes. */
  get bytes(): number {
    return SignTable.bytesOf(this.#dimensions, this.size);
  }

  /** About how many bytes so many documents take. */
  static bytesOf(dimensions: number, documents: number): number {
    return documents * (Math.ceil(dimensions / WORD_BITS) * 4 + ENTRY_BYTES);
  }

  set(name: DocumentName, signs: Signs): void {
    const known = this.#places.get(nameOf(name));
    const place = known ?? this.#names.length;
    if (known === undefined) {
      this.#names.push(name);
      this.#places.set(nameOf(name), place);
    }
    if ((place + 1) * this.#words > this.#signs.length) {
      const more = new Uint32Array(this.#signs.length * 2);
      more.set(this.#signs);
      this.#signs = more;
    }
    this.#signs.set(signs, place * this.#words);
  }

  /** The last document takes its place. */
  delete(name: DocumentName): void {
    const place = this.#places.get(nameOf(name));
    if (place === undefined) return;
    const last = this.#names.pop();
    this.#places.delete(nameOf(name));
    if (last === undefined || place === this.#names.length) return;
    this.#names[place] = last;
    this.#places.set(nameOf(last), place);
    const from = this.#names.length * this.#words;
    this.#signs.copyWithin(place * this.#words, from, from + this.#words);
  }

  /**
   * So many documents at most whose signs differ least; of those that differ in as many, the ones with the lesser owner and key in the
   * order of their bytes.
   */
  closest(to: Signs, most: number): DocumentName[] {
    const differ = this.#differences(to);
    const last = lastDifference(differ, this.#dimensions, most);
    const found: DocumentName[] = [];
    const equal: DocumentName[] = [];
    for (let place = 0; place < differ.length; place++) {
      const difference = differ[place] ?? 0;
      const name = difference > last ? undefined : this.#names[place];
      if (name !== undefined) (difference < last ? found : equal).push(name);
    }
    const left = most - found.length;
    if (equal.length > left) equal.sort((a, b) => bytewise(a.owner, b.owner) || bytewise(a.key, b.key));
    found.push(...equal.slice(0, left));
    return found;
  }

  /** In how many signs each document differs. */
  #differences(to: Signs): Uint16Array {
    const differ = new Uint16Array(this.#names.length);
    const [words, signs] = [this.#words, this.#signs];
    for (let place = 0, from = 0; place < differ.length; place++, from += words) {
      let sum = 0;
      for (let word = 0; word < words; word++) sum += ones((signs[from + word] ?? 0) ^ (to[word] ?? 0));
      differ[place] = sum;
    }
    return differ;
  }
}

/** The least number so that as many documents as are wanted differ in no more signs. */
function lastDifference(differ: Uint16Array, dimensions: number, wanted: number): number {
  const counts = new Uint32Array(dimensions + 1);
  for (const one of differ) counts[one] = (counts[one] ?? 0) + 1;
  let sum = 0;
  for (const [difference, count] of counts.entries()) {
    sum += count;
    if (sum >= wanted) return difference;
  }
  return dimensions;
}
