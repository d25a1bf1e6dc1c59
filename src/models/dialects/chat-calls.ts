import { fieldsIn, isFields, textIn, type UnknownFields } from './dialect.js';

/** A call as its pieces have given it so far. */
export interface OpenCall {
  /** 0, 1, 2 … in the order in which calls began. */
  readonly place: number;
  /** How the server tells the pieces of its calls apart; null: it does not say. */
  readonly index: number | null;
  id: string | null;
  name: string;
  arguments: string;
  /** What the provider wants back with the call. */
  kept: UnknownFields;
}

/** A piece of a call, told to which call it belongs. */
export interface CallPiece {
  readonly call: OpenCall;
  /** What is new of the name. */
  readonly name: string;
  readonly arguments: string;
}

/** A text of arguments is parsed at most so often to see whether it is whole. */
const MAX_TRIES = 32;

/**
 * Puts the calls of one answer together. Servers leave `type`, `index` or `id` out, give each parallel call the index 0, or send
 * the arguments of two calls under one index: what begins another call is told by its id, its name and its arguments.
 */
export class ChatCalls {
  readonly all: OpenCall[] = [];
  readonly #byIndex = new Map<number, OpenCall>();
  #tries = 0;

  /** Takes the calls of a message that is whole: each entry is a call. */
  addWhole(entries: unknown): readonly CallPiece[] {
    return this.#entriesIn(entries).map((entry) => this.#take(this.#begin(null), entry));
  }

  /** Takes the calls of a piece of a stream. */
  addPiece(entries: unknown): readonly CallPiece[] {
    return this.#entriesIn(entries).flatMap((entry) => {
      const call = this.#callOf(entry);
      return call === null ? [] : [this.#take(call, entry)];
    });
  }

  /** A call of a custom tool is the SDK's to refuse. */
  #entriesIn(entries: unknown): readonly UnknownFields[] {
    return Array.isArray(entries) ? entries.filter(isFields).filter(({ type }) => type !== 'custom') : [];
  }

  #take(call: OpenCall, entry: UnknownFields): CallPiece {
    const part = fieldsIn(entry['function']);
    const said = part['arguments'];
    const text = typeof said === 'string' ? said : isFields(said) ? JSON.stringify(said) : '';
    const name = textIn(part, 'name');
    // Some repeat the name with each piece; of a name in pieces each has to come before the arguments.
    const named = name !== call.name && call.arguments === '' ? name : '';
    call.name += named;
    call.id ??= textIn(entry, 'id') || null;
    // Some say that there are no arguments yet by an empty object.
    if (call.arguments.trim() === '{}' && text.trimStart().startsWith('{')) call.arguments = '';
    call.arguments += text;
    const extra = entry['extra_content'];
    if (isFields(extra)) call.kept = { ...call.kept, extra_content: extra };
    return { call, name: named, arguments: text };
  }

  #begin(index: number | null): OpenCall {
    const call: OpenCall = { place: this.all.length, index, id: null, name: '', arguments: '', kept: {} };
    this.all.push(call);
    if (index !== null) this.#byIndex.set(index, call);
    return call;
  }

  /** Null: a piece that belongs to no call, and begins none. */
  #callOf(entry: UnknownFields): OpenCall | null {
    const part = fieldsIn(entry['function']);
    const id = textIn(entry, 'id');
    const name = textIn(part, 'name');
    const index = typeof entry['index'] === 'number' ? entry['index'] : null;
    const begun = index === null ? this.all.at(-1) : this.#byIndex.get(index);
    const known = id === '' ? undefined : this.all.find((call) => call.id === id && (index === null || call === begun));
    if (known !== undefined) return known;
    if (begun === undefined) return index === null && name === '' && id === '' ? null : this.#begin(index);
    const isOther = id !== '' && begun.id !== null && begun.id !== id;
    if (isOther && (name !== '' || this.#isWhole(begun))) return this.#begin(index);
    if (index === null && name !== '' && begun.name !== '') return this.#begin(index);
    const text = textIn(part, 'arguments').trimStart();
    if (text.startsWith('{') && begun.arguments.trim() !== '{}' && this.#isWhole(begun)) {
      const next = this.#begin(index);
      if (name === '') next.name = begun.name;
      return next;
    }
    return begun;
  }

  #isWhole({ arguments: text }: OpenCall): boolean {
    if (!text.trimEnd().endsWith('}') || this.#tries++ > MAX_TRIES) return false;
    try {
      return isFields(JSON.parse(text));
    } catch {
      return false;
    }
  }
}
