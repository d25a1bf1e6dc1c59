import type { ServerResponse } from 'node:http';
import type { JsonObject } from '../../core/json.js';
import type { RunDelta } from '../../core/log/delta.js';
import type { RunEvent } from '../../core/log/event.js';
import type { SystemEvent, SystemGap } from '../../core/log/system-event.js';
import { withoutSecrets } from '../../models/secrets/known-secrets.js';

export interface StreamOptions {
  readonly heartbeatMs: number;
  /** How long a client may not read before it loses its connection. */
  readonly stallMs: number;
  readonly signal: AbortSignal;
}

const RETRY_MS = 2000;

/** What a stream is made of: events, and what is none and stands between them. */
export type Streamed = RunEvent | SystemEvent | RunDelta | SystemGap;

/** Names of messages that are no events. */
export const DELTA_NAMES = { replaced: 'deltas.replaced', dropped: 'deltas.dropped', delta: 'delta' } as const;
export const GAP_NAME = 'events.trimmed';

function nameOf(other: RunDelta | SystemGap): string {
  if (other.type === 'trimmed') return GAP_NAME;
  return other.type === 'replaced' || other.type === 'dropped' ? DELTA_NAMES[other.type] : DELTA_NAMES.delta;
}

/** What is no event has no id, so that the last id that a client has is that of an event. */
const frame = (one: Streamed): string =>
  'seq' in one
    ? `id: ${one.seq}\nevent: ${one.kind}\ndata: ${JSON.stringify(withoutSecrets(one))}\n\n`
    : `event: ${nameOf(one)}\ndata: ${JSON.stringify(withoutSecrets(one))}\n\n`;

/** Resolves when the client has read enough for more, or is gone; false when it took too long. */
function drained(response: ServerResponse, { stallMs, signal }: StreamOptions): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (inTime: boolean) => () => {
      clearTimeout(timer);
      response.off('drain', onDrain);
      signal.removeEventListener('abort', onDrain);
      resolve(inTime);
    };
    const onDrain = settle(true);
    const timer = setTimeout(settle(false), stallMs);
    response.once('drain', onDrain);
    signal.addEventListener('abort', onDrain, { once: true });
    if (signal.aborted) onDrain();
  });
}

/**
 * Writes events as server-sent events (WHATWG HTML, 9.2) and a last message `end` when there are no more. A client that reads
 * slowly slows the source down; nothing is buffered for it beyond one event. Rejects when the source does; then, and when
 * the signal fires, there is no `end`, and the client comes back with Last-Event-ID.
 */
export async function sendEvents(
  response: ServerResponse,
  events: AsyncIterable<Streamed>,
  end: () => Promise<JsonObject>,
  options: StreamOptions,
): Promise<void> {
  const { heartbeatMs, signal } = options;
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' });
  response.write(`retry: ${RETRY_MS}\n\n`);
  const heartbeat = setInterval(() => {
    if (!response.writableNeedDrain) response.write(': \n\n');
  }, heartbeatMs);
  try {
    for await (const event of events) {
      if (signal.aborted) break;
      if (!response.write(frame(event)) && !(await drained(response, options))) return void response.destroy();
    }
    if (!signal.aborted) response.write(`event: end\ndata: ${JSON.stringify(await end())}\n\n`);
    response.end();
  } finally {
    clearInterval(heartbeat);
  }
}
