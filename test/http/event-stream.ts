import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { expect } from 'vitest';
import { type Actor, bearer, type Door } from './door.js';

export interface Stream {
  /** As they come. */
  readonly messages: EventSourceMessage[];
  readonly ended: Promise<void>;
  readonly close: () => void;
}

/** Opens a stream of events, as a client that reads all of it at once. */
export async function openStream(
  door: Door,
  actor: Actor,
  path: string,
  headers: Record<string, string> = {},
): Promise<Stream> {
  const controller = new AbortController();
  const response = await fetch(`${door.http.url}${path}`, {
    headers: { ...bearer(actor), Accept: 'text/event-stream', ...headers },
    signal: controller.signal,
  });
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  expect(response.headers.get('cache-control')).toBe('no-store');
  const messages: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (message) => messages.push(message) });
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) parser.feed(decoder.decode(chunk, { stream: true }));
  };
  return { messages, ended: read().catch(() => undefined), close: () => controller.abort() };
}
