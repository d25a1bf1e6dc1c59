import type { Knex } from 'knex';

/** Names in the log are made of ids, and models choose the ids of calls. */
const keyLeft = (of: string): string =>
  `case when ${of}.key = any(:own) then ${of}.key else 'erased:' || ${of}.seq end`;

const ROWS = `update holdfast.events e set data = null, key = ${keyLeft('e')} where e.run_id = :runId`;

const BLOCKS = `update holdfast.packed_events p
   set events = (
     select array_agg(row(u.seq, ${keyLeft('u')}, u.v, u.parent_id, u.kind, u.at, null,
                          u.data_hash, u.state_version, u.state_hash_before, u.state_hash_after, u.prev_hash, u.hash,
                          u.worker)::holdfast.packed_event order by u.seq)
       from unnest(p.events) u)
 where p.run_id = :runId`;

/** Takes the payloads of a run's events away, and their keys but some, wherever the events are. */
export async function eraseEvents(trx: Knex.Transaction, runId: string, ownKeys: readonly string[]): Promise<void> {
  const terms = { runId, own: [...ownKeys] };
  await trx.raw(ROWS, terms);
  await trx.raw(BLOCKS, terms);
}
