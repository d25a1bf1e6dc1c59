import type { SystemEvent, SystemEventFilter } from '../../core/log/system-event.js';

/** More are not kept: whoever is further behind reads the database. */
const KEPT_MAX = 2000;

/** Whose events somebody reads: of a tenant, and, where `shared`, of no tenant. */
export interface SystemReader {
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

  /** What somebody may read of it after a place, in its order; null: it does not reach back so far. */
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
