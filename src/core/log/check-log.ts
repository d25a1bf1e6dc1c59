import type { LoggedFacts } from '../integrity/logged-facts.js';
import { canonical } from '../json.js';
import { dataHash, eventHash, genesis, type Head } from './chain.js';
import { EVENT_DATA, type EventData, type EventKind, type RunEvent, TERMINAL_KINDS } from './event.js';
import { type Broken, type Fault, fault } from './invariant.js';
import { type LogMemory, memoryOf, ruleBroken } from './log-rules.js';
import { fold, stateHash } from './state.js';

/** An event as it is stored: `dataText` are the bytes of its payload, where they are at hand. */
export interface LoggedEvent extends RunEvent {
  readonly dataText?: string | null;
}

/** What an event is chained to: where a log begins, or an earlier place in it that is known to be sound. */
export interface Since {
  readonly head: Head;
  readonly runKey: string | null;
}

const isKind = (kind: string): kind is EventKind => Object.hasOwn(EVENT_DATA, kind);

/**
 * Goes through a log in order, event by event, and keeps the place up to which it is whole. `runKey` null: payloads were
 * erased, and of them only the chain is checked.
 */
export class LogCheck {
  #head: Head;
  readonly #runKey: string | null;
  readonly #memory: LogMemory;
  readonly #facts: LoggedFacts | null;
  #lastKind: string | null = null;

  /** `facts`: gathers what the events say, where the log is read from its beginning. */
  constructor({ head, runKey }: Since, facts: LoggedFacts | null = null) {
    this.#head = head;
    this.#runKey = runKey;
    this.#facts = facts;
    this.#memory = memoryOf(head.runId, head.seq === 0 ? null : head.state);
  }

  static fromStart(runId: string, tenant: string, runKey: string | null, facts: LoggedFacts | null = null): LogCheck {
    return new LogCheck({ head: genesis(runId, tenant), runKey }, facts);
  }

  /** Up to here the log is whole. */
  get head(): Head {
    return this.#head;
  }

  /** Kind of the last event that was taken; null: none was. */
  get lastKind(): string | null {
    return this.#lastKind;
  }

  /** Whether the last event ended the run. */
  get isOver(): boolean {
    return TERMINAL_KINDS.has(this.#lastKind ?? `run.${this.#head.state.status}`);
  }

  /** Checks the next event. Null: it is sound, and the log is whole up to it. After a broken one nothing more is to be asked. */
  next(event: LoggedEvent): Broken | null {
    const wrong = chainFault(this.#head, event) ?? this.#afterEnd() ?? this.#content(event);
    return wrong === null ? null : { seq: this.#head.seq + 1, ...wrong };
  }

  #afterEnd(): Fault | null {
    return this.isOver ? fault('terminal_last', 'the run was over before this event') : null;
  }

  #content(event: LoggedEvent): Fault | null {
    const { kind } = event;
    if (!isKind(kind)) return fault('kind_known', `the kind ${kind} is unknown to this build`);
    const key = this.#runKey;
    const wrong = key === null ? this.#erased(event) : this.#payload(event, kind, key);
    if (wrong === null) this.#lastKind = kind;
    return wrong;
  }

  /** Of an event without a payload the fold knows nothing; its state is what the chain says. */
  #erased(event: LoggedEvent): Fault | null {
    if (event.data !== null) return fault('payload_hash', 'the key of the payload is gone, and the payload is not');
    if (!COMMITMENT.test(event.dataHash)) return fault('payload_hash', 'dataHash is no commitment');
    if (!HASH.test(event.stateHashAfter)) return fault('state_after', 'stateHashAfter is no hash');
    const { hash, stateHashAfter, at, seq } = event;
    this.#head = { ...this.#head, seq, hash, stateHash: stateHashAfter, at };
    return null;
  }

  #payload<K extends EventKind>(event: LoggedEvent, kind: K, runKey: string): Fault | null {
    const wrong = payloadFault(event, runKey);
    if (wrong !== null) return wrong;
    const parsed = EVENT_DATA[kind].safeParse(event.data);
    if (!parsed.success) return fault('payload_shape', 'the payload does not have the shape of its kind');
    const data: EventData<K> = parsed.data;
    const { state: before, stateHash: hashBefore } = this.#head;
    const broken = ruleBroken(this.#memory, kind, data, before);
    if (broken !== null) return broken;
    const state = fold(before, kind, data);
    const { seq, hash, at, stateHashAfter } = event;
    // Some kinds leave the state as it is.
    if (stateHashAfter !== (state === before ? hashBefore : stateHash(state)))
      return fault('state_after', 'stateHashAfter is not what the event makes of the state');
    this.#head = { ...this.#head, seq, hash, state, stateHash: stateHashAfter, at };
    this.#facts?.take(kind, data, { seq, at });
    return null;
  }
}

/** What of an event does not fit the place that it is chained to. */
function chainFault(head: Head, event: LoggedEvent): Fault | null {
  const seq = head.seq + 1;
  if (event.seq !== seq)
    return fault('event_order', `expected event ${seq}, found event ${event.seq}: one is missing, doubled or moved`);
  if (event.runId !== head.runId || event.tenant !== head.tenant)
    return fault('event_identity', 'the event belongs to another run');
  if (event.id !== `${head.runId}:${seq}`) return fault('event_identity', 'the id is not <runId>:<seq>');
  if (event.prevHash !== head.hash) return fault('event_link', 'prevHash is not the hash of the event before');
  if (event.hash !== eventHash(event)) return fault('event_hash', 'hash does not fit the fields of the event');
  return orderFault(head, event, seq);
}

/** What was written by someone who can compute hashes, and cannot follow the event before. */
function orderFault(head: Head, event: LoggedEvent, seq: number): Fault | null {
  if (event.stateHashBefore !== head.stateHash)
    return fault('state_before', 'stateHashBefore is not the state after the event before');
  if (event.v !== 1) return fault('event_identity', 'its format is not 1');
  if (event.at !== head.at && !isTime(event.at))
    return fault('time_order', 'its time is none in UTC with milliseconds');
  if (event.at < head.at) return fault('time_order', 'its time is before that of the event before');
  if (event.stateVersion !== seq) return fault('state_version', 'stateVersion does not rise by one');
  return isEarlier(event.parentId, head.runId, seq)
    ? null
    : fault('event_parent', `it follows from ${event.parentId ?? 'no event'}, which is no earlier event of the log`);
}

/** A time is written in one way: 30 February is none. */
function isTime(text: string): boolean {
  const time = new Date(text);
  return !Number.isNaN(time.getTime()) && time.toISOString() === text;
}

const COMMITMENT = /^hmac-sha256:[0-9a-f]{64}$/;
const HASH = /^sha256:[0-9a-f]{64}$/;

function isEarlier(parentId: string | null, runId: string, seq: number): boolean {
  if (parentId === null || seq === 1) return parentId === null && seq === 1;
  if (!parentId.startsWith(`${runId}:`)) return false;
  const number = parentId.slice(runId.length + 1);
  return /^[1-9]\d*$/.test(number) && Number(number) < seq;
}

/** Null: it cannot be written as canonical JSON, and so was never committed to. */
function canonicalOrNull(data: unknown): string | null {
  try {
    return canonical(data);
  } catch {
    return null;
  }
}

/** The stored bytes are what was committed to, so that nothing has to be written again to look. */
function payloadFault({ seq, data, dataHash: committed, dataText }: LoggedEvent, runKey: string): Fault | null {
  if (typeof dataText === 'string' && dataHash(runKey, seq, dataText) === committed) return null;
  const text = canonicalOrNull(data);
  if (text === null || dataHash(runKey, seq, text) !== committed)
    return fault('payload_hash', 'the payload was changed');
  if (typeof dataText !== 'string') return null;
  return fault('payload_text', 'the payload says the same and is not stored as it was written');
}
