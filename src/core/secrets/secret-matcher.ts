import { SECRET_LENGTH_MIN, secretForms } from './secret-forms.js';

/** A place in a text, its end not included. */
interface Span {
  readonly start: number;
  end: number;
}

/**
 * Finds secrets in texts, in every form and in upper and lower case. It is the automaton of Aho and Corasick: each character of a text
 * is looked at once, however many secrets there are and whatever the text says.
 */
export class SecretMatcher {
  /** 0: a character of no secret. */
  readonly #ascii = new Uint16Array(128);
  readonly #beyond = new Map<number, number>();
  #classes = 1;
  /** Where a state and a class lead; `class + state * classes` is the key. Few of all pairs are there. */
  readonly #next = new Map<number, number>();
  /** The same for the state in which nothing of a secret was seen, by characters of ASCII: nearly all of a text is read in it. */
  readonly #first = new Uint32Array(128);
  readonly #depth: number[] = [0];
  readonly #fail: number[] = [0];
  /** The length of the longest form that ends in a state; 0: none does. */
  readonly #found: number[] = [0];

  /** Values that are shorter than `leastChars` are not looked for. */
  constructor(values: Iterable<string>, leastChars = SECRET_LENGTH_MIN) {
    const forms = new Set<string>();
    for (const value of values) if (value.length >= leastChars) for (const form of secretForms(value)) forms.add(form);
    for (const form of forms) for (let at = 0; at < form.length; at++) this.#classFor(form.charCodeAt(at));
    const parents: [state: number, kind: number][] = [];
    for (const form of forms) this.#add(form, parents);
    this.#link(parents);
    for (let code = 0; code < 128; code++) this.#first[code] = this.#next.get(this.#classOf(code)) ?? 0;
  }

  get isEmpty(): boolean {
    return this.#depth.length === 1;
  }

  /** The text with `instead` in the place of each secret. A text without one comes back as it is. */
  replace(text: string, instead: (length: number) => string): string {
    if (this.isEmpty) return text;
    const scan = new SecretScan(this, instead);
    const clean = scan.push(text) + scan.end();
    return scan.hasFound ? clean : text;
  }

  /** Texts that come in pieces, across which a secret may be split. A beginning of fewer than `leastHeld` characters is not held back. */
  stream(instead: (length: number) => string, leastHeld = 1): SecretScan {
    return new SecretScan(this, instead, leastHeld);
  }

  step(from: number, code: number): number {
    if (from === 0 && code < 128) return this.#first[code] ?? 0;
    const kind = this.#classOf(code);
    if (kind === 0) return 0;
    let state = from;
    for (;;) {
      const next = this.#next.get(kind + state * this.#classes);
      if (next !== undefined) return next;
      if (state === 0) return 0;
      state = this.backFrom(state);
    }
  }

  /** The longest other state whose text a state ends with. */
  backFrom(state: number): number {
    return this.#fail[state] ?? 0;
  }

  depthOf(state: number): number {
    return this.#depth[state] ?? 0;
  }

  foundIn(state: number): number {
    return this.#found[state] ?? 0;
  }

  #classOf(code: number): number {
    return code < 128 ? (this.#ascii[code] ?? 0) : (this.#beyond.get(code) ?? 0);
  }

  #classFor(code: number): void {
    if (this.#classOf(code) !== 0) return;
    const kind = this.#classes++;
    if (code >= 128) return void this.#beyond.set(code, kind);
    this.#ascii[code] = kind;
    this.#ascii[String.fromCharCode(code).toUpperCase().charCodeAt(0)] = kind;
  }

  #add(form: string, parents: [number, number][]): void {
    let state = 0;
    for (let at = 0; at < form.length; at++) {
      const kind = this.#classOf(form.charCodeAt(at));
      const key = kind + state * this.#classes;
      let next = this.#next.get(key);
      if (next === undefined) {
        next = this.#depth.push(at + 1) - 1;
        this.#fail.push(0);
        this.#found.push(0);
        this.#next.set(key, next);
        parents[next] = [state, kind];
      }
      state = next;
    }
    this.#found[state] = form.length;
  }

  /** For each state the longest other one whose text it ends with, from the shortest to the longest. */
  #link(parents: readonly [number, number][]): void {
    const byDepth: number[][] = [];
    for (let state = 1; state < this.#depth.length; state++) {
      const level = byDepth[this.depthOf(state)] ?? [];
      byDepth[this.depthOf(state)] = level;
      level.push(state);
    }
    for (const state of byDepth.flat()) {
      const [parent, kind] = parents[state] ?? [0, 0];
      let back = parent;
      let fail: number | undefined;
      while (fail === undefined && back !== 0) {
        back = this.backFrom(back);
        fail = this.#next.get(kind + back * this.#classes);
      }
      this.#fail[state] = fail ?? 0;
      if (this.#found[state] === 0) this.#found[state] = this.foundIn(fail ?? 0);
    }
  }
}

/** A line break and so many characters in all may stand inside of a secret, as where a program wraps lines and indents them. */
const GAP_MAX = 16;
/** Positions are kept of the characters that may be a secret; older ones are dropped from time to time. */
const KEPT_MIN = 1024;

/** One way to read a text. A reading that takes escapes as line breaks reads what is wrapped and then written as JSON. */
class Reading {
  readonly #matcher: SecretMatcher;
  readonly #takesEscapes: boolean;
  state = 0;
  /** Where the characters are that led to the state, the last one last. */
  #places: number[] = [];
  #gap = 0;
  /** Where the backslashes are that may begin an escape. */
  #slashes: number[] = [];

  /** `from` is copied: both have read the same. */
  constructor(matcher: SecretMatcher, from?: Reading) {
    this.#matcher = matcher;
    this.#takesEscapes = from !== undefined;
    if (from === undefined) return;
    this.state = from.state;
    this.#places = from.#places.slice(-matcher.depthOf(from.state));
    this.#gap = from.#gap;
  }

  /** Reads a character. Returns the length of the secret that ends with it; 0: none does. */
  read(code: number, place: number): number {
    if (this.#takesEscapes && code === BACKSLASH) {
      this.#slashes.push(place);
      if (this.#slashes.length + this.#gap > GAP_MAX) this.state = 0;
      return 0;
    }
    if (this.#slashes.length > 0) return this.#afterSlashes(code, place);
    if (this.state !== 0 && (isBreak(code) || (this.#gap > 0 && isBlank(code)))) return this.#skip(1);
    return this.#step(code, place);
  }

  /** Where the last so many characters begin that led to the state. */
  placeOf(length: number): number | undefined {
    return this.#places[this.#places.length - length];
  }

  #afterSlashes(code: number, place: number): number {
    const slashes = this.#slashes;
    this.#slashes = [];
    if (isBreak(code) || code === SMALL_N || code === SMALL_R) return this.#skip(slashes.length + 1);
    for (const at of slashes) this.#step(BACKSLASH, at);
    return this.#step(code, place);
  }

  #skip(characters: number): number {
    this.#gap += characters;
    if (this.#gap > GAP_MAX) this.state = 0;
    return 0;
  }

  #step(code: number, place: number): number {
    if (this.state === 0) this.#places = [];
    this.#gap = 0;
    this.state = this.#matcher.step(this.state, code);
    if (this.state === 0) return 0;
    const depth = this.#matcher.depthOf(this.state);
    if (this.#places.length > KEPT_MIN + 2 * depth) this.#places = this.#places.slice(-depth);
    this.#places.push(place);
    return this.#matcher.foundIn(this.state);
  }
}

/**
 * One text on its way through a matcher. What may be the beginning of a secret is held back until it is known. Places are counted from the
 * beginning of the whole text.
 */
export class SecretScan {
  readonly #matcher: SecretMatcher;
  readonly #instead: (length: number) => string;
  readonly #leastHeld: number;
  #plain: Reading;
  /** Reads on from a backslash in what may be a secret; null: it would read the same. */
  #escaped: Reading | null = null;
  /** How much of the text was given away. */
  #given = 0;
  #held = '';
  #spans: Span[] = [];
  hasFound = false;

  constructor(matcher: SecretMatcher, instead: (length: number) => string, leastHeld = 1) {
    this.#leastHeld = leastHeld;
    this.#matcher = matcher;
    this.#instead = instead;
    this.#plain = new Reading(matcher);
  }

  /** What is sure of the text so far and was not given before. */
  push(text: string): string {
    if (this.#matcher.isEmpty) return text;
    const first = this.#given + this.#held.length;
    this.#held += text;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      // Nearly all of a text is no part of a secret.
      if (this.#plain.state === 0 && this.#escaped === null && this.#matcher.step(0, code) === 0) continue;
      this.#read(code, first + at);
    }
    const end = first + text.length;
    const sure = Math.min(this.#sureOf(this.#plain, end), this.#sureOf(this.#escaped, end));
    const open = this.#spans.find((span) => span.end > sure);
    return this.#give(open === undefined ? sure : Math.min(sure, open.start));
  }

  /** The rest; the next text begins from nothing. */
  end(): string {
    const rest = this.#give(this.#given + this.#held.length);
    this.#plain = new Reading(this.#matcher);
    this.#escaped = null;
    return rest;
  }

  #read(code: number, place: number): void {
    if (this.#escaped === null && code === BACKSLASH && this.#plain.state !== 0)
      this.#escaped = new Reading(this.#matcher, this.#plain);
    this.#look(this.#plain, code, place);
    if (this.#escaped === null) return;
    this.#look(this.#escaped, code, place);
    if (code !== BACKSLASH && (this.#escaped.state === 0 || this.#escaped.state === this.#plain.state))
      this.#escaped = null;
  }

  #look(reading: Reading, code: number, place: number): void {
    const length = reading.read(code, place);
    if (length > 0) this.#mark(reading.placeOf(length) ?? this.#given, place + 1);
  }

  /** Up to where nothing belongs to what may be the beginning of a secret. */
  #sureOf(reading: Reading | null, end: number): number {
    const depth = reading === null ? 0 : this.#matcher.depthOf(reading.state);
    return depth < Math.max(1, this.#leastHeld) ? end : Math.max(this.#given, reading?.placeOf(depth) ?? this.#given);
  }

  #mark(start: number, end: number): void {
    this.hasFound = true;
    // What was given away already was too short to tell anything.
    let first = Math.max(this.#given, start);
    for (let last = this.#spans.at(-1); last !== undefined && last.end > start; last = this.#spans.at(-1)) {
      first = Math.min(first, last.start);
      this.#spans.pop();
    }
    this.#spans.push({ start: first, end });
  }

  #give(upTo: number): string {
    let clean = '';
    let from = 0;
    const later: Span[] = [];
    for (const span of this.#spans) {
      if (span.end > upTo) {
        later.push(span);
        continue;
      }
      const [start, end] = [span.start - this.#given, span.end - this.#given];
      clean += this.#held.slice(from, start) + this.#instead(end - start);
      from = end;
    }
    clean += this.#held.slice(from, upTo - this.#given);
    this.#held = this.#held.slice(upTo - this.#given);
    this.#given = upTo;
    this.#spans = later;
    return clean;
  }
}

const BACKSLASH = 92;
const SMALL_N = 110;
const SMALL_R = 114;
const isBreak = (code: number): boolean => code === 10 || code === 13;
const isBlank = (code: number): boolean => code === 32 || code === 9;
