import { z } from 'zod';
import { type DeltaPiece, deltaPiece, type RunDelta } from '../../core/log/delta.js';

/** What one client may have waiting. Its durable events are not here: those come from the database, all of them. */
const WAITING_CHARS = 256 * 1024;
const WAITING_ITEMS = 2000;

/** That an attempt began, before it has said anything. */
interface AttemptStarted {
  readonly type: 'began';
  readonly runId: string;
  readonly turn: number;
  readonly attempt: string;
}

interface Present {
  readonly attempt: string;
  readonly gone: ReadonlySet<string>;
  /** Index of the next piece. */
  next: number;
  shown: boolean;
}

/**
 * What one client is told of the deltas of a run: each piece once, in order, only of the newest attempt of a turn, and none of a turn
 * whose answer is in the log. A client that reads too slowly loses deltas and is told so; no one waits for it.
 */
export class DeltaFeed {
  readonly #onReady: () => void;
  readonly #turns = new Map<number, Present>();
  readonly #settled = new Set<number>();
  #waiting: RunDelta[] = [];
  #chars = 0;

  constructor(onReady: () => void) {
    this.#onReady = onReady;
  }

  push(message: AttemptStarted | DeltaPiece): void {
    const present = this.#presentFor(message);
    if (present === null || message.type === 'began' || message.index < present.next) return;
    present.next = message.index + 1;
    present.shown = true;
    const isFull = this.#chars + message.delta.length > WAITING_CHARS || this.#waiting.length >= WAITING_ITEMS;
    if (isFull || this.#waiting.at(-1)?.type === 'dropped') {
      this.#drop(message.runId);
    } else {
      this.#waiting.push(message);
      this.#chars += message.delta.length;
    }
    this.#onReady();
  }

  /** What waits, oldest first. */
  take(): readonly RunDelta[] {
    const taken = this.#waiting;
    this.#waiting = [];
    this.#chars = 0;
    return taken;
  }

  /** The answer of a turn is in the log: its deltas count for nothing any more. */
  settle(turn: number): void {
    this.#settled.add(turn);
    this.#turns.delete(turn);
  }

  /** The present attempt of a turn, which is that of the message; null: the message comes too late. */
  #presentFor({ runId, turn, attempt }: AttemptStarted | DeltaPiece): Present | null {
    if (this.#settled.has(turn)) return null;
    const present = this.#turns.get(turn);
    if (present?.attempt === attempt) return present;
    if (present?.gone.has(attempt) === true) return null;
    const gone = present === undefined ? new Set<string>() : new Set([...present.gone, present.attempt]);
    const begun = { attempt, gone, next: 0, shown: false };
    this.#turns.set(turn, begun);
    if (present?.shown === true) {
      this.#waiting.push({ type: 'replaced', runId, turn, attempt: present.attempt, by: attempt });
      this.#onReady();
    }
    return begun;
  }

  #drop(runId: string): void {
    const last = this.#waiting.at(-1);
    const count = last?.type === 'dropped' ? last.count + 1 : 1;
    if (last?.type === 'dropped') this.#waiting.pop();
    this.#waiting.push({ type: 'dropped', runId, count });
  }
}

/** How deltas go from one process to the others: notifications of PostgreSQL, which carry less than 8,000 bytes each. */

const PAYLOAD_BYTES = 7900;

const began = z.object({ type: z.literal('began'), runId: z.string(), turn: z.int(), attempt: z.string() });
const message = z.discriminatedUnion('type', [began, ...deltaPiece.options]);
export type DeltaMessage = z.infer<typeof message>;

const payload = z.discriminatedUnion('what', [
  /** A process that has just started asks who watches what. */
  z.object({ what: z.literal('asking'), from: z.string() }),
  z.object({ what: z.literal('deltas'), from: z.string(), items: z.array(message) }),
  z.object({
    what: z.literal('watched'),
    from: z.string(),
    items: z.array(z.string()),
    /** Someone has come who has seen nothing. */
    fresh: z.boolean(),
  }),
]);
type DeltaPayload = z.infer<typeof payload>;

/** Null for what is none. */
export function readPayload(text: string): DeltaPayload | null {
  try {
    return payload.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

export const askingPayload = (from: string): string => JSON.stringify({ what: 'asking', from });

export const deltaPayloads = (from: string, items: readonly DeltaMessage[]): string[] =>
  packed({ what: 'deltas', from }, items);

export const watchPayloads = (from: string, runIds: readonly string[], fresh: boolean): string[] =>
  packed({ what: 'watched', from, fresh }, runIds);

/** As few payloads of a notification as hold the items, in order. */
export function packed(head: object, items: readonly unknown[]): string[] {
  const start = `${JSON.stringify(head).slice(0, -1)},"items":[`;
  const payloads: string[] = [];
  let body = '';
  let bytes = 0;
  const capacity = PAYLOAD_BYTES - Buffer.byteLength(start) - 2;
  for (const item of items) {
    const text = JSON.stringify(item);
    const size = Buffer.byteLength(text) + 1;
    if (body !== '' && bytes + size > capacity) {
      payloads.push(`${start}${body}]}`);
      [body, bytes] = ['', 0];
    }
    body += body === '' ? text : `,${text}`;
    bytes += size;
  }
  if (body !== '') payloads.push(`${start}${body}]}`);
  return payloads;
}
