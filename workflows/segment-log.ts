import type { Charge } from '../src/core/budgets/charge.js';
import type { EventData, EventDraft, EventKind } from '../src/core/log/event.js';
import type { LogTail } from '../src/storage/log/write-events.js';
import type { LogWriter } from '../steps/segment/write-log.js';

const BATCH_DELAY_MS = 250;
/** The more runs are at work, the longer a batch waits for more: a process that is busy writes less often. */
const DELAY_PER_LOG_MS = 20;
const DELAY_MS_MAX = 1000;
/** How many logs of this process have a batch that waits. */
let waiting = 0;
const delayMs = (): number => Math.min(DELAY_MS_MAX, BATCH_DELAY_MS + DELAY_PER_LOG_MS * waiting);

/**
 * The events of one execution of a segment, in the order in which its workflow derives them. They are written in batches
 * beside the work; writing again writes nothing new, because every event has a key.
 */
export class SegmentLog {
  readonly #segment: number;
  readonly #keys: readonly string[];
  readonly #writer: LogWriter;
  readonly #drafts: EventDraft[] = [];
  #written = 0;
  #ordinal = 0;
  #last: string;
  #writing: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  readonly #accepts: (draft: EventDraft) => boolean;
  #before: () => Promise<void> = () => Promise.resolve();

  /**
   * `first` is the key of the event that the segment follows from. Nothing is written of an event that `accepts` refuses,
   * nor of what comes after it. `keys` are those of the events that the log has of the segment already, maybe under other numbers.
   */
  constructor(
    segment: number,
    first: string,
    writer: LogWriter,
    accepts: (draft: EventDraft) => boolean = () => true,
    keys: readonly string[] = [],
  ) {
    this.#segment = segment;
    this.#last = first;
    this.#writer = writer;
    this.#accepts = accepts;
    this.#keys = keys;
  }

  /** Nothing is written before what `before` waits for. */
  writeAfter(before: () => Promise<void>): void {
    this.#before = before;
  }

  /** Where those that are written end, if that is known. */
  get tail(): LogTail | null {
    return this.#writer.tail();
  }

  /** Key of the newest event. */
  get last(): string {
    return this.#last;
  }

  /** Adds an event and returns its key. Its place in the log is that of this call, whenever it is written. */
  add<K extends EventKind>(
    kind: K,
    data: EventData<K>,
    parentKey: string | null = this.#last,
    charges: readonly Charge[] = [],
    tookMs?: number,
  ): string {
    const ordinal = this.#ordinal++;
    const key = this.#keys[ordinal] ?? `${this.#segment}:${ordinal}`;
    // The compiler cannot see that K pairs kind and data.
    const draft = {
      key,
      parentKey,
      kind,
      data,
      ...(charges.length > 0 && { charges }),
      ...(tookMs !== undefined && { tookMs }),
    } as EventDraft;
    if (!this.#accepts(draft)) return key;
    this.#drafts.push(draft);
    this.#last = key;
    if (this.#timer === undefined) this.#wait();
    return key;
  }

  #wait(): void {
    this.#timer = setTimeout(() => {
      this.#wake();
      // What fails here is written with the next batch, at the latest with the end of the segment.
      this.flush().catch(() => undefined);
    }, delayMs()).unref();
    waiting++;
  }

  #wake(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    waiting--;
  }

  /** Resolves when every event that was added before is in the database. */
  flush(): Promise<void> {
    const batch = async (): Promise<void> => {
      const drafts = this.#drafts.slice(this.#written);
      if (drafts.length === 0) return;
      await this.#before();
      await this.#writer.write(drafts);
      this.#written += drafts.length;
    };
    const flushed = this.#writing.then(batch);
    this.#writing = flushed.catch(() => undefined);
    return flushed;
  }

  /** What is not written yet, for a transaction that writes it together with something else. Ends the batches. */
  async rest(): Promise<readonly EventDraft[]> {
    this.#wake();
    await this.#writing;
    await this.#before();
    return this.#drafts.slice(this.#written);
  }
}
