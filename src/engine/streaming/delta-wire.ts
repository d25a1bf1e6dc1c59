import { z } from 'zod';
import { deltaPiece } from '../../core/log/delta.js';

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
    /** Somebody has come who has seen nothing. */
    fresh: z.boolean(),
  }),
]);
export type DeltaPayload = z.infer<typeof payload>;

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

/** As few payloads as hold the items, in order. */
function packed(head: object, items: readonly unknown[]): string[] {
  const start = `${JSON.stringify(head).slice(0, -1)},"items":[`;
  const payloads: string[] = [];
  let body = '';
  let bytes = 0;
  const room = PAYLOAD_BYTES - Buffer.byteLength(start) - 2;
  for (const item of items) {
    const text = JSON.stringify(item);
    const size = Buffer.byteLength(text) + 1;
    if (body !== '' && bytes + size > room) {
      payloads.push(`${start}${body}]}`);
      [body, bytes] = ['', 0];
    }
    body += body === '' ? text : `,${text}`;
    bytes += size;
  }
  if (body !== '') payloads.push(`${start}${body}]}`);
  return payloads;
}
