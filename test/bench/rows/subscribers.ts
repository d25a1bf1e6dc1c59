import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';
import { chunkServer } from '../chunk-server.js';
import { newPlace } from '../place.js';
import { startProcess } from '../process.js';
import type { Row } from '../row.js';
import { atShare } from '../shares.js';
import { followRun, SUBSCRIBER_TOKENS } from '../stream-client.js';

const CHILD = join(import.meta.dirname, '..', 'stream-child.js');
const RUN_EVERY_MS = 200;
/** Events that come later than this are missed, and the row fails. */
const LATE_MS = 30_000;

/** Follows the events of the system; hears of each how long after it was written it came. */
async function subscribe(url: string, token: string, onLag: (ms: number) => void): Promise<() => void> {
  const aborted = new AbortController();
  const headers = { Authorization: `Bearer ${token}`, Accept: 'text/event-stream' };
  const { body, status } = await fetch(`${url}/api/v1/events?cursor=now`, { headers, signal: aborted.signal });
  if (status !== 200) throw new Error(`a subscriber was answered ${status}`);
  const parser = createParser({
    onEvent: ({ id, data }) => {
      const { kind, at } = JSON.parse(data) as { readonly kind: string; readonly at: string };
      if (id !== undefined && kind === 'step.executed') onLag(Date.now() - Date.parse(at));
    },
  });
  const decoder = new TextDecoder();
  const read = async (): Promise<void> => {
    for await (const bytes of body ?? []) parser.feed(decoder.decode(bytes, { stream: true }));
  };
  read().catch(() => undefined);
  return () => aborted.abort();
}

/** From the moment that an event says to that at which a subscriber has it, while five runs a second come and end. */
export const SUBSCRIBERS: Row = {
  name: 'subscribers',
  title: 'event of the system to each of 300 subscribers over HTTP, against one',
  needsPostgres: true,
  notQuick: true,
  roundsMax: 2,
  sides: ['300', '1'],
  measure: async (side, scale) => {
    const subscribers = Number(side);
    const runs = scale === 'quick' ? 25 : 100;
    const server = await chunkServer(3, 0, 0);
    const job = { place: await newPlace('postgres'), modelUrl: server.url, role: 'all', runs: 0 };
    const child = startProcess(['--expose-gc', CHILD, JSON.stringify(job)]);
    const ends: (() => void)[] = [];
    try {
      const url = String(await child.line());
      await followRun(url, () => {});
      const lags: number[] = [];
      for (let n = 0; n < subscribers; n++)
        ends.push(await subscribe(url, SUBSCRIBER_TOKENS[n % SUBSCRIBER_TOKENS.length] ?? '', (ms) => lags.push(ms)));
      const works: Promise<void>[] = [];
      for (let n = 0; n < runs; n++) {
        works.push(followRun(url, () => {}));
        await sleep(RUN_EVERY_MS);
      }
      await Promise.all(works);
      const wanted = runs * subscribers;
      for (let waited = 0; lags.length < wanted && waited < LATE_MS; waited += 100) await sleep(100);
      if (lags.length !== wanted) throw new Error(`${lags.length} events came, expected ${wanted}`);
      const sorted = lags.toSorted((a, b) => a - b);
      return {
        p50: { value: atShare(sorted, 0.5), unit: 'ms' },
        p99: { value: atShare(sorted, 0.99), unit: 'ms' },
      };
    } finally {
      for (const end of ends) end();
      await child.kill();
      await server.close();
    }
  },
};
