import { readAgain } from './query.js';
import { isRefused, LONGEST_PAUSE_MS, openStream, untilNextTry } from './stream.js';

/** What is read again when something of a kind happens. Kinds begin with these words. */
const ABOUT: readonly (readonly [kinds: string, paths: readonly string[]])[] = [
  ['run.', ['runs', 'queue']],
  ['interruption.', ['interruptions']],
  ['task.', ['tasks', 'batches']],
  ['worker.', ['workers']],
];
const ALL = ABOUT.flatMap(([, paths]) => paths);

const LOCK = 'holdfast-live';
const SOONEST_MS = 500;

/** Reads again what events are about: at most so often, and not where no one looks, since a page that comes into sight reads again. */
class Readings {
  readonly #paths = new Set<string>();
  readonly #tell: (paths: readonly string[]) => void;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(tell: (paths: readonly string[]) => void) {
    this.#tell = tell;
  }

  add(paths: readonly string[]): void {
    for (const path of paths) this.#paths.add(path);
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      const due = [...this.#paths];
      this.#paths.clear();
      read(due);
      this.#tell(due);
    }, SOONEST_MS);
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }
}

function read(paths: readonly string[]): void {
  if (document.hidden) return;
  for (const path of paths) readAgain(path);
}

/** The end of the stream, as far as it was read. */
interface Place {
  last: string;
}

async function follow(place: Place, signal: AbortSignal, take: (event: string, data: string) => void): Promise<void> {
  const query: Record<string, string> = place.last === '' ? { cursor: 'now' } : {};
  const messages = await openStream('events', { query, after: place.last, signal });
  for await (const { id, event, data } of messages) {
    if (id !== undefined) place.last = id;
    take(event ?? '', data);
  }
}

/** Follows until the signal fires, or the server refuses. What breaks goes on after its last event. */
async function followOn(signal: AbortSignal, take: (event: string, data: string) => void): Promise<void> {
  const place: Place = { last: '' };
  let tries = 0;
  while (!signal.aborted) {
    let broke: unknown = null;
    try {
      await follow(place, signal, (event, data) => {
        tries = 0;
        take(event, data);
      });
    } catch (error) {
      if (isRefused(error)) return;
      broke = error;
    }
    const pauseMs = Math.min(LONGEST_PAUSE_MS, 1000 * 2 ** tries++);
    if (!signal.aborted) await untilNextTry(broke, pauseMs, signal);
  }
}

/**
 * Reads the events of the system: one tab for all of the browser, since a server has few connections for each. Pages poll beside it, less
 * often, so that nothing is lost by a break. Gives how to stop.
 */
export function followNews(): () => void {
  const stop = new AbortController();
  const channel = new BroadcastChannel(LOCK);
  const readings = new Readings((paths) => channel.postMessage(paths));
  channel.onmessage = ({ data }: MessageEvent<readonly string[]>) => read(data);
  const take = (event: string, data: string): void => {
    const { kind = '' }: { readonly kind?: string } = JSON.parse(data);
    const about = ABOUT.flatMap(([kinds, paths]) => (kind.startsWith(kinds) ? paths : []));
    readings.add(event === 'events.trimmed' ? ALL : about);
  };
  // A page without locks has its polls.
  void navigator.locks
    ?.request(LOCK, { signal: stop.signal }, () => followOn(stop.signal, take))
    .catch(() => undefined);
  return () => {
    stop.abort();
    readings.stop();
    channel.close();
  };
}
