import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { z } from 'zod';
import { HoldfastError } from '../core/errors.js';
import type { RunEvent } from '../core/event.js';
import { PAGE_LIMIT } from '../core/page.js';
import type { Client } from './client.js';
import { connect } from './connect.js';
import { json } from './options.js';
import { cut, print, width } from './print.js';
import { oneLine } from './run-text.js';

const RETRY_MS = 1000;
const GONE_AFTER_MS = 30_000;

const options = z.object({ json, follow: z.boolean().default(false) });

export const eventsCommand = (): Command =>
  new Command('events')
    .description('Print the event log of a run.')
    .argument('<run>', 'id of a run')
    .option('--follow', 'go on with the events that come, until the run is over')
    .option('--json', 'print one JSON document per line')
    .action(async (run: string, raw: unknown) => {
      const asked = options.parse(raw);
      const client = connect();
      for await (const event of asked.follow ? follow(client, run) : recorded(client, run)) {
        print(asked.json ? JSON.stringify(event) : lineOf(event));
      }
    });

async function* recorded(client: Client, run: string): AsyncGenerator<RunEvent, void> {
  let cursor: string | null = '0';
  while (cursor !== null) {
    const page = await client.listEvents(run, { limit: PAGE_LIMIT, cursor });
    yield* page.items;
    cursor = page.nextCursor;
  }
}

/** Goes on where it was when the server was away for less than half a minute. */
async function* follow(client: Client, run: string): AsyncGenerator<RunEvent, void> {
  let after = 0;
  let lastSeenAt = Date.now();
  for (;;) {
    try {
      for await (const event of client.streamEvents(run, after, new AbortController().signal)) {
        after = event.seq;
        yield event;
        lastSeenAt = Date.now();
      }
      return;
    } catch (error) {
      const away = error instanceof HoldfastError && error.code === 'server_unreachable';
      if (!away || after === 0 || Date.now() - lastSeenAt > GONE_AFTER_MS) throw error;
      await sleep(RETRY_MS);
    }
  }
}

const lineOf = ({ seq, at, kind, data }: RunEvent): string =>
  cut(`${String(seq).padStart(4)}  ${at}  ${kind.padEnd(22)}  ${data === null ? '(erased)' : oneLine(data)}`, width());
