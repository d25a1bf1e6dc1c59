import { canonical } from '../../src/core/json.js';
import { genesis, type Head, seal } from '../../src/core/log/chain.js';
import type { EventDraft } from '../../src/core/log/event.js';
import type { Database } from '../../src/storage/database/database.js';
import { readEvents } from '../../src/storage/log/read-events.js';

/** Chains the log of a run again from its first event, so that it verifies by itself: with other words in it, and so many events. */
export async function chainAnew(
  knex: Database['knex'],
  runId: string,
  { upTo = 1000, from = '"input":"go"', to = '"input":"no"' } = {},
): Promise<void> {
  const { rows: events } = await readEvents(knex, runId, 0, upTo);
  const { key }: { key: string } = await knex('holdfast.run_keys').where({ run_id: runId }).first('key');
  let head: Head = genesis(runId, 'default');
  await knex('holdfast.events').where({ run_id: runId }).where('seq', '>', upTo).delete();
  for (const event of events) {
    const data = JSON.parse(canonical(event.data).replaceAll(from, to));
    const draft = { key: 'any', parentKey: null, kind: event.kind, data } as EventDraft;
    const sealed = seal(head, draft, event.parentId, event.at, key);
    head = sealed.head;
    await knex('holdfast.events')
      .where({ run_id: runId, seq: event.seq })
      .update({
        ...{ data: sealed.dataText, data_hash: sealed.event.dataHash, hash: sealed.event.hash },
        ...{ prev_hash: sealed.event.prevHash, state_hash_before: sealed.event.stateHashBefore },
        ...{ state_hash_after: sealed.event.stateHashAfter },
      });
  }
  await knex('holdfast.run_heads')
    .where({ run_id: runId })
    .update({ seq: head.seq, hash: head.hash, state: canonical(head.state), state_hash: head.stateHash, at: head.at });
}
