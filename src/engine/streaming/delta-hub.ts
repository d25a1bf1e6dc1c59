import type { DeltaSink, Deltas, ModelDelta } from '../../core/log/delta.js';
import { DeltaAttempt } from './delta-attempt.js';
import {
  askingPayload,
  DeltaFeed,
  type DeltaMessage,
  deltaPayloads,
  readPayload,
  watchPayloads,
} from './delta-feed.js';

export interface DeltaHubOptions {
  readonly newId: () => string;
  /** Sends notifications to the other processes; null: there are none. */
  readonly send: ((payloads: readonly string[]) => Promise<void>) | null;
  /** Default 40: how long deltas are collected before they go on. */
  readonly intervalMs?: number;
}

const INTERVAL_MS = 40;
/** A process says so often which runs it watches, and is believed for so long. */
const WATCHING_EVERY_MS = 5000;
const WATCHED_FOR_MS = 15_000;
/** So much that waits goes on at once. */
const AT_ONCE_CHARS = 32 * 1024;

/** An attempt that is at work here, and how far it was handed on; -1: that it began was not said yet. */
interface Outgoing {
  readonly attempt: DeltaAttempt;
  local: number;
  remote: number;
  ended: boolean;
}

/**
 * Brings deltas from the models of this process to the clients of this process and of others. Nothing here is waited for: a
 * model only adds to its attempt. Between processes nothing is sent for runs that no one watches: a process that has clients
 * says so to the others, again and again, when asked too, and is told from the beginning of the attempt that is at work.
 */
export class DeltaHub implements Deltas {
  readonly #options: DeltaHubOptions;
  readonly #me: string;
  readonly #feeds = new Map<string, Set<DeltaFeed>>();
  readonly #outgoing = new Map<string, Set<Outgoing>>();
  /** Runs that other processes watch, and until when. */
  readonly #watched = new Map<string, number>();
  readonly #dirty = new Set<Outgoing>();
  #timer: NodeJS.Timeout | undefined;
  #flushedAt = 0;
  #sending = false;
  #closed = false;
  readonly #watching: NodeJS.Timeout | undefined;

  constructor(options: DeltaHubOptions) {
    this.#options = options;
    this.#me = options.newId();
    if (options.send === null) return;
    this.#watching = setInterval(() => {
      for (const runId of this.#watched.keys()) this.#isWatched(runId);
      this.#sayWatched();
    }, WATCHING_EVERY_MS).unref();
  }

  begin(runId: string, turn: number): DeltaSink {
    const attempt = new DeltaAttempt(runId, turn, this.#options.newId());
    const out: Outgoing = { attempt, local: -1, remote: -1, ended: false };
    const outs = this.#outgoing.get(runId) ?? new Set();
    this.#outgoing.set(runId, outs.add(out));
    this.#touch(out);
    return {
      add: (delta: ModelDelta) => {
        if (out.ended) return;
        attempt.add(delta);
        this.#touch(out);
      },
      end: () => {
        if (out.ended) return;
        out.ended = true;
        this.#deliver(out);
        if (this.#isWatched(runId) && !this.#closed) this.#touch(out);
        else this.#forget(out);
      },
    };
  }

  /** Deltas of a run for one client, from the beginning of the attempt that is at work. To be closed after. */
  open(runId: string, onReady: () => void): { readonly feed: DeltaFeed; readonly close: () => void } {
    const feed = new DeltaFeed(onReady);
    const feeds = this.#feeds.get(runId) ?? new Set();
    this.#feeds.set(runId, feeds.add(feed));
    for (const out of this.#outgoing.get(runId) ?? []) {
      for (const message of messagesFrom(out.attempt, -1)) feed.push(message);
    }
    this.#send(watchPayloads(this.#me, [runId], true));
    const close = (): void => {
      feeds.delete(feed);
      if (feeds.size === 0 && this.#feeds.get(runId) === feeds) this.#feeds.delete(runId);
    };
    return { feed, close };
  }

  /** Takes a notification of another process, or of this one. */
  receive(text: string): void {
    const payload = readPayload(text);
    if (payload === null || payload.from === this.#me) return;
    if (payload.what === 'asking') this.#sayWatched();
    else if (payload.what === 'deltas') for (const message of payload.items) this.#give(message);
    else for (const runId of payload.items) this.#watch(runId, payload.fresh);
  }

  /** To be called when notifications arrive: those who watch runs already say so. */
  greet(): void {
    this.#send([askingPayload(this.#me)]);
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#watching);
    clearTimeout(this.#timer);
    this.#dirty.clear();
  }

  #sayWatched(): void {
    this.#send(watchPayloads(this.#me, [...this.#feeds.keys()], false));
  }

  #watch(runId: string, fresh: boolean): void {
    const known = this.#isWatched(runId);
    this.#watched.set(runId, performance.now() + WATCHED_FOR_MS);
    if (known && !fresh) return;
    for (const out of this.#outgoing.get(runId) ?? []) {
      out.remote = -1;
      this.#touch(out);
    }
  }

  #isWatched(runId: string): boolean {
    const until = this.#watched.get(runId);
    if (until === undefined) return false;
    if (until > performance.now()) return true;
    this.#watched.delete(runId);
    return false;
  }

  /** Something of an attempt waits for those who want it. */
  #touch(out: Outgoing): void {
    const { runId } = out.attempt;
    const isLocal = this.#feeds.has(runId);
    if (this.#closed || !(isLocal || this.#isWatched(runId))) return;
    if (isLocal && out.attempt.charsFrom(Math.max(0, out.local)) > AT_ONCE_CHARS) this.#deliver(out);
    this.#dirty.add(out);
    this.#schedule();
  }

  #schedule(): void {
    const { intervalMs = INTERVAL_MS } = this.#options;
    const due = Math.max(0, this.#flushedAt + intervalMs - performance.now());
    this.#timer ??= setTimeout(() => this.#flush(), due).unref();
  }

  #flush(): void {
    this.#timer = undefined;
    this.#flushedAt = performance.now();
    for (const out of this.#dirty) this.#deliver(out);
    // One statement at a time: what comes meanwhile goes with the next.
    if (this.#sending) return;
    const items: DeltaMessage[] = [];
    for (const out of this.#dirty) {
      if (this.#isWatched(out.attempt.runId)) {
        items.push(...messagesFrom(out.attempt, out.remote));
        out.remote = out.attempt.next;
      }
      if (out.ended) this.#forget(out);
    }
    this.#dirty.clear();
    this.#send(deltaPayloads(this.#me, items), true);
  }

  /** What does not arrive is not sent again: deltas are a courtesy. */
  #send(payloads: readonly string[], isFlush = false): void {
    const { send } = this.#options;
    if (send === null || payloads.length === 0 || this.#closed) return;
    if (isFlush) this.#sending = true;
    void send(payloads)
      .catch(() => undefined)
      .then(() => {
        if (!isFlush) return;
        this.#sending = false;
        if (this.#dirty.size > 0 && !this.#closed) this.#schedule();
      });
  }

  #deliver(out: Outgoing): void {
    if (!this.#feeds.has(out.attempt.runId)) return;
    for (const message of messagesFrom(out.attempt, out.local)) this.#give(message);
    out.local = out.attempt.next;
  }

  #give(message: DeltaMessage): void {
    for (const feed of this.#feeds.get(message.runId) ?? []) feed.push(message);
  }

  #forget(out: Outgoing): void {
    const outs = this.#outgoing.get(out.attempt.runId);
    outs?.delete(out);
    if (outs?.size === 0) this.#outgoing.delete(out.attempt.runId);
  }
}

/** What comes from a place on; -1: from before its beginning. */
function messagesFrom(attempt: DeltaAttempt, from: number): readonly DeltaMessage[] {
  const { runId, turn, id } = attempt;
  const pieces = attempt.from(Math.max(0, from));
  return from === -1 ? [{ type: 'began', runId, turn, attempt: id }, ...pieces] : pieces;
}
