import { type EventSourceMessage, EventSourceParserStream } from 'eventsource-parser/stream';
import { type RunDelta, runDelta } from '../core/log/delta.js';
import { type RunEvent, runEvent } from '../core/log/event.js';
import { notHoldfast, unreachable } from './problem-answer.js';

/**
 * Reads the events of a run, and the deltas that the server sends between them, from server-sent events. Returns at the message `end`; throws `server_unreachable` when the
 * connection ends before it.
 */
export async function* readStream(
  url: string,
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<RunEvent | RunDelta, void> {
  const reader = body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream()).getReader();
  try {
    for (;;) {
      const message = await next(url, reader);
      if (message.event === 'end') return;
      yield itemOf(url, message);
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

async function next(url: string, reader: ReadableStreamDefaultReader<EventSourceMessage>): Promise<EventSourceMessage> {
  let read: Awaited<ReturnType<typeof reader.read>>;
  try {
    read = await reader.read();
  } catch (cause) {
    throw unreachable(url, cause);
  }
  if (read.done) throw unreachable(url, new Error('the stream ended before the run did'));
  return read.value;
}

function itemOf(url: string, { event: name = '', data }: EventSourceMessage): RunEvent | RunDelta {
  let json: unknown;
  try {
    json = JSON.parse(data);
  } catch {
    throw notHoldfast(url, 'an event that is not JSON');
  }
  const parsed = (/^deltas?\b/.test(name) ? runDelta : runEvent).safeParse(json);
  if (parsed.success) return parsed.data;
  throw notHoldfast(url, 'an event of another shape');
}
