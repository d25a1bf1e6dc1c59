import { createParser } from 'eventsource-parser';

export const STREAM_TOKEN = 'token-of-the-bench-0123456789';
/** Of those who follow what others do: one token may hold 64 streams. */
export const SUBSCRIBER_TOKENS = Array.from({ length: 6 }, (_, n) => `${STREAM_TOKEN}-subscriber-${n}`);

const headers = { Authorization: `Bearer ${STREAM_TOKEN}`, 'Content-Type': 'application/json' };

/** Starts a run of the talker and follows it to its end; hears each piece of text as it comes. */
export async function followRun(url: string, onText: (text: string) => void): Promise<void> {
  const body = JSON.stringify({ agent: 'talker', input: 'Talk.' });
  const started = await fetch(`${url}/api/v1/runs`, { method: 'POST', headers, body });
  const { id } = (await started.json()) as { readonly id: string };
  const events = await fetch(`${url}/api/v1/runs/${id}/events`, {
    headers: { ...headers, Accept: 'text/event-stream' },
  });
  let status: unknown;
  const parser = createParser({
    onEvent: ({ event, data }) => {
      const message = JSON.parse(data) as { readonly type?: string; readonly delta?: string; readonly status?: string };
      if (event === 'delta' && message.type === 'text') onText(message.delta ?? '');
      if (event === 'end') status = message.status;
    },
  });
  const decoder = new TextDecoder();
  for await (const bytes of events.body ?? []) parser.feed(decoder.decode(bytes, { stream: true }));
  if (status !== 'completed') throw new Error(`the run ${id} is ${String(status)}`);
}
