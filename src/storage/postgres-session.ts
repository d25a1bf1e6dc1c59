import pg from 'pg';
import type { SessionLock } from './database.js';
import { connectionTo } from './postgres-place.js';

const RETRY_MIN_MS = 100;
const RETRY_MAX_MS = 5_000;

/**
 * Listens on a connection of its own. A lost connection is made again, with growing pauses; what was notified meanwhile is
 * lost, as LISTEN has it. Resolves when it listens for the first time.
 */
export async function listenOn(
  url: string,
  channel: string,
  onPayload: (payload: string) => void,
): Promise<() => Promise<void>> {
  let stopped = false;
  let current: pg.Client | null = null;
  let timer: NodeJS.Timeout | null = null;
  let pauseMs = RETRY_MIN_MS;

  const open = async (): Promise<void> => {
    const client = new pg.Client(connectionTo(url));
    client.on('error', () => {});
    client.on('notification', (message) => onPayload(message.payload ?? ''));
    await client.connect();
    try {
      await client.query(`LISTEN ${client.escapeIdentifier(channel)}`);
    } catch (error) {
      await client.end();
      throw error;
    }
    if (stopped) return client.end();
    pauseMs = RETRY_MIN_MS;
    current = client;
    client.on('end', () => {
      current = null;
      again();
    });
  };
  const again = (): void => {
    if (stopped) return;
    timer = setTimeout(() => {
      open().catch(again);
    }, pauseMs).unref();
    pauseMs = Math.min(pauseMs * 2, RETRY_MAX_MS);
  };

  await open();
  return async () => {
    stopped = true;
    if (timer !== null) clearTimeout(timer);
    await current?.end();
  };
}

/** Takes a session advisory lock on a connection of its own; null when another session holds it. */
export async function lockOn(url: string, name: string): Promise<SessionLock | null> {
  const client = new pg.Client(connectionTo(url));
  client.on('error', () => {});
  await client.connect();
  let held = false;
  try {
    const { rows } = await client.query('SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS held', [name]);
    held = rows[0]?.held === true;
  } finally {
    if (!held) await client.end();
  }
  if (!held) return null;
  let state: 'held' | 'released' | 'lost' = 'held';
  const listeners: (() => void)[] = [];
  client.on('end', () => {
    if (state !== 'held') return;
    state = 'lost';
    for (const listener of listeners) listener();
  });
  return {
    name,
    onLost(listener) {
      if (state === 'lost') listener();
      else listeners.push(listener);
    },
    async release() {
      if (state !== 'held') return;
      state = 'released';
      await client.end();
    },
  };
}
