import type { Knex } from 'knex';
import { type Caller, mayOperate } from '../core/caller.js';
import type { Page } from '../core/page.js';
import type { SystemEvent, SystemEventFilter, SystemEventPlace, SystemGap } from '../core/system-event.js';
import { placeSystemEvents, readSystemEvents } from '../storage/system-events.js';
import { Changes, type Watch } from './changes.js';
import type { Parts } from './parts.js';

/** How often one looks for those who wait; also what other processes have told is found then. */
const LOOK_MS = 250;
/** How long one waits at most before one looks for oneself. */
const LOOK_AGAIN_MS = 5000;
const BATCH = 500;
const ALL = 'all';

/** Gives events of the system their places, and tells those who wait in this process: however many they are, one looks for all. */
export class SystemFeed {
  readonly #knex: Knex;
  readonly #changes = new Changes();
  #position = 0;
  #watching = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(knex: Knex) {
    this.#knex = knex;
  }

  /** What is committed by now has its place after this. */
  async look(): Promise<void> {
    const { position } = await placeSystemEvents(this.#knex);
    if (position <= this.#position) return;
    this.#position = position;
    this.#changes.announce(ALL);
  }

  /** To be closed after. */
  watch(): Watch {
    const watch = this.#changes.watch(ALL, 'run');
    this.#watching++;
    if (this.#watching === 1) this.#lookAgain();
    return watch;
  }

  unwatch(watch: Watch): void {
    watch.close();
    this.#watching--;
    if (this.#watching === 0) clearTimeout(this.#timer);
  }

  #lookAgain(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      // Whoever reads finds out that the database is away.
      void this.look()
        .catch(() => undefined)
        .then(() => {
          if (this.#watching > 0) this.#lookAgain();
        });
    }, LOOK_MS).unref();
  }
}

export interface SystemEventPage extends Page<SystemEvent> {
  /** Events up to this number are gone by retention. */
  readonly trimmed: number;
}

export interface FromPlace extends SystemEventFilter {
  readonly after: SystemEventPlace;
}

/** Events of no tenant are of the installation. */
const readerOf = (caller: Caller) => ({ tenant: caller.tenant, shared: mayOperate(caller, 'viewer') });

export async function listSystemEvents(
  { world, system }: Pick<Parts, 'world' | 'system'>,
  { after, limit, ...filter }: FromPlace & { readonly limit: number },
  caller: Caller,
): Promise<SystemEventPage> {
  await system.look();
  const from = after === 'now' ? Number.MAX_SAFE_INTEGER : after;
  const asked = { ...filter, ...readerOf(caller), after: from, limit };
  const { events: items, more, head } = await readSystemEvents(world.knex, asked);
  const next = more ? String(items.at(-1)?.seq ?? 0) : null;
  return { items, nextCursor: after === 'now' ? String(head.position) : next, trimmed: head.trimmed };
}

/**
 * Events after a place, then those that come, until the signal fires. Where some of them are gone by retention, that is said first.
 */
export async function* streamSystemEvents(
  { world, system }: Pick<Parts, 'world' | 'system'>,
  { after, signal, ...filter }: FromPlace & { readonly signal: AbortSignal },
  caller: Caller,
): AsyncIterable<SystemEvent | SystemGap> {
  const reader = readerOf(caller);
  const watch = system.watch();
  try {
    await system.look();
    const from = after === 'now' ? Number.MAX_SAFE_INTEGER : after;
    const read = (place: number) => readSystemEvents(world.knex, { ...filter, ...reader, after: place, limit: BATCH });
    const { head } = await readSystemEvents(world.knex, { ...reader, after: from, limit: 1 });
    // A place that does not exist yet is of another database, or of what this one has lost.
    let seen = Math.min(from, head.position);
    while (!signal.aborted) {
      const found = await read(seen);
      if (seen < found.head.trimmed) {
        yield { type: 'trimmed', after: seen, upTo: found.head.trimmed };
        seen = found.head.trimmed;
      }
      for (const event of found.events) {
        if (signal.aborted) return;
        yield event;
      }
      const whole = !found.more;
      seen = whole ? Math.max(seen, found.head.position) : (found.events.at(-1)?.seq ?? seen);
      if (whole) await watch.changed(LOOK_AGAIN_MS, signal);
    }
  } finally {
    system.unwatch(watch);
  }
}
