import { type EventSourceMessage, EventSourceParserStream } from 'eventsource-parser/stream';

/** The messages of server-sent events. Throws what `away` makes of a connection that breaks or ends. */
export async function* readMessages(
  body: ReadableStream<Uint8Array>,
  away: (cause: unknown) => Error,
): AsyncGenerator<EventSourceMessage, void> {
  const reader = body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream()).getReader();
  const next = () =>
    reader.read().catch((cause: unknown) => {
      throw away(cause);
    });
  try {
    for (;;) {
      const read = await next();
      if (read.done) throw away(new Error('the stream ended before the run did'));
      if (read.value.event === 'end') return;
      yield read.value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** The lines of a body. Throws what `away` makes of a connection that breaks; returns at the end of the body. */
export async function* readLines(
  body: ReadableStream<Uint8Array>,
  away: (cause: unknown) => Error,
): AsyncGenerator<string, void> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const read = await reader.read().catch((cause: unknown) => {
        throw away(cause);
      });
      if (read.done) return;
      const lines = (rest + read.value).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
