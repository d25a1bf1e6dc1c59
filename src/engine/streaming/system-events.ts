import type { Knex } from 'knex';
import type { StepContext } from '../../../steps/context.js';
import { type Caller, mayOperate } from '../../core/caller.js';
import type { SystemEvent, SystemEventFilter, SystemEventPlace, SystemGap } from '../../core/log/system-event.js';
import type { Page } from '../../core/page.js';
import { placeSystemEvents, readSystemEvents } from '../../storage/ops/system-events.js';
import { Changes, type Watch } from '../log/changes.js';

/** More are not kept: the one that is further behind reads the database. */
const KEPT_MAX = 2000;

/** Whose events someone reads: of a tenant, and, where `shared`, of no tenant. */
interface SystemReader {
  readonly tenant: string;
  readonly shared: boolean;
}

/** The end of the order of events, as it was read for all who follow it. */
export class SystemTail {
  #events: SystemEvent[] = [];
  #from = 0;
  #to = 0;

  /** The place up to which it has what came. */
  get to(): number {
    return this.#to;
  }

  /** Forgets what it has. */
  beginAt(place: number): void {
    this.#events = [];
    this.#from = place;
    this.#to = place;
  }

  /** Takes what comes next, up to a place. */
  add(events: readonly SystemEvent[], to: number): void {
    this.#events.push(...events);
    this.#to = to;
    const dropped = this.#events.splice(0, Math.max(0, this.#events.length - KEPT_MAX));
    this.#from = dropped.at(-1)?.seq ?? this.#from;
  }

  /** What someone may read of it after a place, in its order; null: it does not reach back so far. */
  after(place: number, reader: SystemReader & SystemEventFilter): readonly SystemEvent[] | null {
    if (place < this.#from) return null;
    const first = this.#events.findIndex(({ seq }) => seq > place);
    return first === -1 ? [] : this.#events.slice(first).filter((event) => isFor(event, reader));
  }
}

const isFor = (
  event: SystemEvent,
  { tenant, shared, kind, taskId, runId }: SystemReader & SystemEventFilter,
): boolean =>
  (event.tenant === null ? shared : event.tenant === tenant) &&
  (kind === undefined || event.kind === kind) &&
  (taskId === undefined || event.taskId === taskId) &&
  (runId === undefined || event.runId === runId);

/** How often one looks for those who wait; also what other processes have told is found then. */
const LOOK_MS = 250;
/** How long one waits at most before one looks for oneself. */
const LOOK_AGAIN_MS = 5000;
const BATCH = 500;
const ALL = 'all';
/** What comes between two looks is read in so many pages; of more than these, each who follows reads for himself. */
const PAGES_MAX = 4;

/**
 * Gives events of the system their places, and tells those who wait in this process: however many they are, one looks for all, and
 * reads what came for all.
 */
export class SystemFeed {
  readonly #knex: Knex;
  readonly #changes = new Changes();
  readonly #tail = new SystemTail();
  #filling: Promise<void> | null = null;
  #failure: unknown = null;
  #watching = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(knex: Knex) {
    this.#knex = knex;
  }

  /** What is committed by now has its place after this. */
  async look(): Promise<void> {
    const { position } = await placeSystemEvents(this.#knex);
    if (position <= this.#tail.to) return;
    this.#filling ??= this.#fill(position).finally(() => {
      this.#filling = null;
    });
    await this.#filling;
  }

  async #fill(position: number): Promise<void> {
    let isWhole = this.#watching === 0;
    if (isWhole) this.#tail.beginAt(position);
    for (let page = 0; page < PAGES_MAX && !isWhole; page++) {
      const all = { tenant: null, shared: true, after: this.#tail.to, limit: BATCH };
      const { events, more, head } = await readSystemEvents(this.#knex, all);
      const last = events.at(-1)?.seq ?? 0;
      this.#tail.add(events, more ? last : Math.max(last, head.position));
      isWhole = !more;
    }
    if (!isWhole) this.#tail.beginAt(position);
    this.#changes.announce(ALL);
  }

  /** What came after a place, as one reads it who follows. Throws what kept the last look from looking. */
  async read(
    after: number,
    reader: SystemReader & SystemEventFilter,
  ): Promise<Awaited<ReturnType<typeof readSystemEvents>>> {
    if (this.#failure !== null) throw this.#failure;
    const events = this.#tail.after(after, reader);
    if (events === null) return readSystemEvents(this.#knex, { ...reader, after, limit: BATCH });
    return { events, more: false, head: { position: this.#tail.to, trimmed: 0 } };
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
    if (this.#watching > 0) return;
    clearTimeout(this.#timer);
    this.#failure = null;
  }

  #lookAgain(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      // The one that reads finds out that the database is away.
      void this.look()
        .then(
          () => null,
          (error: unknown) => error,
        )
        .then((failure) => {
          this.#failure = failure;
          if (this.#watching > 0) this.#lookAgain();
        });
    }, LOOK_MS).unref();
  }
}

interface SystemFeedContext {
  readonly stepContext: Pick<StepContext, 'knex'>;
  readonly system: SystemFeed;
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
  { stepContext, system }: SystemFeedContext,
  { after, limit, ...filter }: FromPlace & { readonly limit: number },
  caller: Caller,
): Promise<SystemEventPage> {
  await system.look();
  const from = after === 'now' ? Number.MAX_SAFE_INTEGER : after;
  const asked = { ...filter, ...readerOf(caller), after: from, limit };
  const { events: items, more, head } = await readSystemEvents(stepContext.knex, asked);
  const next = more ? String(items.at(-1)?.seq ?? 0) : null;
  return { items, nextCursor: after === 'now' ? String(head.position) : next, trimmed: head.trimmed };
}

/**
 * Events after a place, then those that come, until the signal fires. Where some of them are gone by retention, that is said first.
 */
export async function* streamSystemEvents(
  { stepContext, system }: SystemFeedContext,
  { after, signal, ...filter }: FromPlace & { readonly signal: AbortSignal },
  caller: Caller,
): AsyncIterable<SystemEvent | SystemGap> {
  const reader = readerOf(caller);
  const watch = system.watch();
  try {
    await system.look();
    const from = after === 'now' ? Number.MAX_SAFE_INTEGER : after;
    const { head } = await readSystemEvents(stepContext.knex, { ...reader, after: from, limit: 1 });
    // A place that does not exist yet is of another database, or of what this one has lost.
    let seen = Math.min(from, head.position);
    while (!signal.aborted) {
      const found = await system.read(seen, { ...filter, ...reader });
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
