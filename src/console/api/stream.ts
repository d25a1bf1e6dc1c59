import { EventSourceParserStream } from 'eventsource-parser/stream';
import { addressOf, isSignedOut, ProblemError, problemIn, send } from './ask.js';
import { signedOut, silentSince } from './query.js';

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
export const isRefused = (error: unknown): boolean =>
  error instanceof ProblemError && error.problem.status < 429 && !isSignedOut(error);

/** Waits until a stream that broke is opened again: until the sign-in that it lacked, or so long, or until the server answers others. */
export function untilNextTry(error: unknown, pauseMs: number, signal: AbortSignal): Promise<void> {
  if (isSignedOut(error)) signedOut.value = true;
  return new Promise((resolve) => {
    const wasSilent = silentSince.value !== null;
    const timer = signedOut.value ? null : setTimeout(() => settle(), pauseMs);
    const stops = [
      signedOut.subscribe((isOut) => !isOut && timer === null && settle()),
      silentSince.subscribe((since) => since === null && wasSilent && settle()),
    ];
    function settle(): void {
      if (timer !== null) clearTimeout(timer);
      signal.removeEventListener('abort', settle);
      // Subscribing calls at once, when the list is not there yet.
      queueMicrotask(() => {
        for (const stop of stops) stop();
      });
      resolve();
    }
    signal.addEventListener('abort', settle);
  });
}
