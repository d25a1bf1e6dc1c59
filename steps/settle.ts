import type { Knex } from 'knex';
import { statusAfter, type Verdict } from '../src/core/interruption.js';
import type { JsonValue } from '../src/core/json.js';
import { appendEvents } from '../src/storage/events.js';
import { type InterruptionRow, pendingOf, settleInterruption } from '../src/storage/interruptions.js';
import { isoNow, type World } from './world.js';

export interface Settling {
  readonly verdict: Verdict;
  readonly actor: string;
  readonly message: string | null;
  readonly value: JsonValue;
}

/** Who settles what nobody decides: time, an event, another run. */
export const NOBODY = 'holdfast';

/** Settles an interruption and writes its event. Under the lock of the run's row. */
export async function settle(
  world: World,
  trx: Knex.Transaction,
  row: InterruptionRow,
  settling: Settling,
): Promise<void> {
  const { verdict, actor, message, value } = settling;
  await settleInterruption(trx, row, statusAfter(verdict), { id: `dec_${row.id}`, verdict, actor, message, value });
  const data = { id: row.id, verdict, actor, message, value, digest: row.digest };
  const draft = {
    key: `decision:${row.id}`,
    parentKey: `interruption:${row.id}`,
    kind: 'interruption.decided',
    data,
  } as const;
  await appendEvents(trx, row.run_id, [draft], { at: isoNow(world), worker: null });
}

/** Settles an interruption whose time has come: a timer is due, everything else has expired. */
export const settleDue = (world: World, trx: Knex.Transaction, row: InterruptionRow): Promise<void> =>
  settle(world, trx, row, {
    ...{ verdict: row.kind === 'timer' ? 'answer' : 'expire', actor: NOBODY, message: null, value: null },
  });

/**
 * Settles what was there before a run came to wait for it, in the transaction that pauses the run: a time that is past.
 * Under the lock of the run's row.
 */
export async function settleWhatIsThere(world: World, trx: Knex.Transaction, runId: string): Promise<void> {
  for (const row of await pendingOf(trx, runId)) {
    if (row.kind === 'timer' && row.expires_at !== null && row.expires_at.getTime() <= world.now())
      await settleDue(world, trx, row);
  }
}
