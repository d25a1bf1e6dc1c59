import type { Knex } from 'knex';

/** Notifies the listeners of a channel, once per payload and in order. A payload has less than 8,000 bytes. */
export async function notify(db: Knex, channel: string, payloads: readonly string[]): Promise<void> {
  // Equal payloads of one transaction arrive once; none of ours are equal.
  await db.raw('select pg_notify(?, payload) from unnest(?::text[]) with ordinality as p(payload, n) order by n', [
    channel,
    [...payloads],
  ]);
}
