import { EventSourceParserStream } from 'eventsource-parser/stream';
import { addressOf, ProblemError, problemIn, send } from './ask.js';

type Messages = ReadableStream<{
  readonly id?: string | undefined;
  readonly event?: string | undefined;
  readonly data: string;
}>;

/** The longest time until a stream that broke is opened again. */
export const LONGEST_PAUSE_MS = 30_000;

/** Opens a stream of the server, after an event or from its begin. Throws `ProblemError` and `NoAnswerError`. */
export async function openStream(
  path: string,
  {
    query = {},
    after,
    signal,
  }: { readonly query?: Record<string, string>; readonly after: string; readonly signal: AbortSignal },
): Promise<Messages> {
  const place: Record<string, string> = after === '' ? {} : { 'Last-Event-ID': after };
  const response = await send(addressOf(path, query), {
    headers: { Accept: 'text/event-stream', 'Holdfast-Console': '1', ...place },
    signal,
  });
  if (!response.ok || response.body === null) throw problemIn(await response.text(), response.status);
  return response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
}

/** Whether the server refuses a stream, so that another try does not help. */
export const isRefused = (error: unknown): boolean => error instanceof ProblemError && error.problem.status < 429;
