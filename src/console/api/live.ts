import { useEffect, useState } from 'preact/hooks';
import type { RunDelta } from '../../core/log/delta.js';
import type { RunEvent } from '../../core/log/event.js';
import { exactlyParsed } from '../text/exact.js';
import { NoAnswerError } from './ask.js';
import { silentSince } from './query.js';
import { isRefused, LONGEST_PAUSE_MS, openStream, untilNextTry } from './stream.js';

/** What a model says while it answers: of the newest attempt of the open turn. */
export interface Said {
  readonly turn: number;
  readonly attempt: string;
  readonly text: string;
  readonly dropped: number;
}

export interface LiveEvents {
  readonly events: readonly RunEvent[];
  readonly said: Said | null;
  /** Whether the log ends here: the run is over and all of it was read. */
  readonly ended: boolean;
  readonly error: Error | null;
}

const NOTHING: LiveEvents = { events: [], said: null, ended: false, error: null };
const DRAW_MS = 80;
const SAID_MOST = 262_144;

function withDelta(said: Said | null, delta: RunDelta): Said | null {
  if (delta.type === 'dropped') return said === null ? null : { ...said, dropped: said.dropped + delta.count };
  if (delta.type === 'replaced') return null;
  const same = said !== null && said.attempt === delta.attempt && said.turn === delta.turn;
  const before = same ? said : { turn: delta.turn, attempt: delta.attempt, text: '', dropped: 0 };
  if (delta.type !== 'text') return before;
  return { ...before, text: (before.text + delta.delta).slice(-SAID_MOST) };
}

/** Reads the stream of a run from an event on. Gives whether the log has ended. Throws `ProblemError` and `NoAnswerError`. */
async function follow(
  id: string,
  after: number,
  signal: AbortSignal,
  take: (one: RunEvent | RunDelta) => void,
): Promise<boolean> {
  const messages = await openStream(`runs/${encodeURIComponent(id)}/events`, { after: String(after), signal });
  silentSince.value = null;
  for await (const { event, data } of messages) {
    if (event === 'end') return true;
    take(exactlyParsed<RunEvent | RunDelta>(data));
  }
  return false;
}

const isEvent = (one: RunEvent | RunDelta): one is RunEvent => 'seq' in one;

/** Follows a run until its log ends or no page shows it. A stream that breaks goes on after its last event. */
class Follower {
  readonly #id: string;
  readonly #show: (live: LiveEvents) => void;
  readonly #stop = new AbortController();
  readonly #events: RunEvent[] = [];
  #said: Said | null = null;
  #error: Error | null = null;
  #ended = false;
  #tries = 0;
  #drawing: ReturnType<typeof setTimeout> | null = null;

  constructor(id: string, show: (live: LiveEvents) => void) {
    this.#id = id;
    this.#show = show;
  }

  async read(): Promise<void> {
    while (!this.#ended && !this.#stop.signal.aborted) {
      let broke: unknown = null;
      try {
        const after = this.#events.at(-1)?.seq ?? 0;
        this.#ended = await follow(this.#id, after, this.#stop.signal, (one) => this.#take(one));
      } catch (thrown) {
        broke = thrown;
        if (!this.#goesOnAfter(thrown)) return;
      }
      this.#draw();
      const pauseMs = Math.min(LONGEST_PAUSE_MS, 500 * 2 ** this.#tries++);
      if (!this.#ended) await untilNextTry(broke, pauseMs, this.#stop.signal);
    }
  }

  stop(): void {
    this.#stop.abort();
    if (this.#drawing !== null) clearTimeout(this.#drawing);
  }

  #take(one: RunEvent | RunDelta): void {
    this.#tries = 0;
    this.#error = null;
    if (isEvent(one)) {
      this.#events.push(one);
      if (one.kind === 'model.responded' || one.kind === 'model.failed') this.#said = null;
    } else this.#said = withDelta(this.#said, one);
    this.#draw();
  }

  /** Whether another try may help: not where the server refuses. */
  #goesOnAfter(thrown: unknown): boolean {
    if (this.#stop.signal.aborted) return false;
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    this.#error = error;
    this.#said = null;
    this.#draw();
    if (error instanceof NoAnswerError) silentSince.value ??= Date.now();
    return !isRefused(error);
  }

  #draw(): void {
    this.#drawing ??= setTimeout(() => {
      this.#drawing = null;
      this.#show({ events: [...this.#events], said: this.#said, ended: this.#ended, error: this.#error });
    }, DRAW_MS);
  }
}

/** All events of a run, and those that come. They are read again when its content is erased. */
export function useEvents(id: string, erasedAt: string | null = null): LiveEvents {
  const [shown, show] = useState(NOTHING);
  useEffect(() => {
    show(NOTHING);
    const follower = new Follower(id, show);
    void follower.read();
    return () => follower.stop();
  }, [id, erasedAt]);
  return shown;
}
