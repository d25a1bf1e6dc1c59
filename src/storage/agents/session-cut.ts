import type { Knex } from 'knex';
import { lockSession, sessions } from './sessions.js';

/** Takes what a run added out of its session. Those that follow move up, so that places stay without a gap. */
export async function removeItemsOfRun(
  trx: Knex.Transaction,
  tenant: string,
  sessionId: string,
  runId: string,
): Promise<void> {
  const row = await lockSession(trx, tenant, sessionId);
  if (row === undefined) return;
  const items = () => trx('holdfast.session_items').where({ tenant, session_id: sessionId });
  const removed: { seq: number; bytes: number }[] = await items()
    .where({ run_id: runId })
    .delete()
    .returning(['seq', trx.raw('octet_length(item) as bytes')]);
  if (removed.length === 0) return;
  const first = Math.min(...removed.map(({ seq }) => seq));
  // By way of places that no one has: each row is checked when it moves.
  await trx.raw(
    `update holdfast.session_items i set seq = -n.place
       from (select seq, :first::int - 1 + row_number() over (order by seq) as place from holdfast.session_items
              where tenant = :tenant and session_id = :sessionId and seq > :first) n
      where i.tenant = :tenant and i.session_id = :sessionId and i.seq = n.seq`,
    { tenant, sessionId, first },
  );
  await items()
    .where('seq', '<', 0)
    .update({ seq: trx.raw('-seq') });
  const bytes = removed.reduce((sum, one) => sum + one.bytes, 0);
  await sessions(trx)
    .where({ tenant, id: sessionId })
    .update({
      items: row.items - removed.length,
      bytes: String(Number(row.bytes) - bytes),
      updated_at: trx.fn.now() as unknown as Date,
    });
}
