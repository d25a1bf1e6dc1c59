import type { DeltaPiece, ModelDelta } from '../../core/log/delta.js';

/** Of one piece, so that a notification of PostgreSQL (less than 8,000 bytes) can carry it whatever is in it. */
const PIECE_CHARS = 800;
/** What is kept of an attempt for those who come late. */
const KEPT_CHARS = 256 * 1024;
const KEPT_PIECES = 4000;
const ID_CHARS = 200;

/**
 * The deltas of one attempt to get an answer. What comes between two looks is joined into few pieces; the newest are kept, within
 * bounds, so that one who comes late gets the answer from its beginning.
 */
export class DeltaAttempt {
  readonly runId: string;
  readonly turn: number;
  readonly id: string;
  readonly #pieces: DeltaPiece[] = [];
  /** Index of the first piece that is kept. */
  #first = 0;
  #chars = 0;
  #open = false;

  constructor(runId: string, turn: number, id: string) {
    this.runId = runId;
    this.turn = turn;
    this.id = id;
  }

  /** Index of the piece that comes next. */
  get next(): number {
    return this.#first + this.#pieces.length;
  }

  add(delta: ModelDelta): void {
    for (const part of parts(delta.delta)) this.#addPart(delta, part);
    while (this.#chars > KEPT_CHARS || this.#pieces.length > KEPT_PIECES) {
      this.#chars -= this.#pieces.shift()?.delta.length ?? 0;
      this.#first++;
    }
  }

  /** The pieces from an index on that are kept. What was given once is not changed any more. */
  from(index: number): readonly DeltaPiece[] {
    this.#open = false;
    return this.#pieces.slice(Math.max(0, index - this.#first));
  }

  /** How much `from` would give, in characters; a bound from above. */
  charsFrom(index: number): number {
    return Math.min(this.#chars, (this.next - index) * PIECE_CHARS);
  }

  #addPart(delta: ModelDelta, part: string): void {
    this.#chars += part.length;
    const last = this.#open ? this.#pieces.at(-1) : undefined;
    if (last !== undefined && sameKind(last, delta) && last.delta.length + part.length <= PIECE_CHARS) {
      last.delta += part;
      return;
    }
    const about = { runId: this.runId, turn: this.turn, attempt: this.id, index: this.next, delta: part };
    this.#pieces.push(
      delta.type === 'arguments'
        ? { ...about, type: 'arguments', callId: bounded(delta.callId), tool: bounded(delta.tool) }
        : { ...about, type: delta.type },
    );
    this.#open = true;
  }
}

const bounded = (id: string | null): string | null => (id === null || id.length > ID_CHARS ? null : id);

const sameKind = (piece: DeltaPiece, delta: ModelDelta): boolean =>
  piece.type === delta.type &&
  (piece.type !== 'arguments' || delta.type !== 'arguments' || piece.callId === bounded(delta.callId));

/** A text in parts that are small enough; a surrogate pair stays whole. */
function* parts(text: string): Iterable<string> {
  for (let start = 0; start < text.length; ) {
    let end = Math.min(text.length, start + PIECE_CHARS);
    if (end < text.length && /[\ud800-\udbff]/.test(text[end - 1] ?? '')) end--;
    yield text.slice(start, end);
    start = end;
  }
}
