import type { Knex } from 'knex';
import type { KeptWait } from '../../core/integrity/call-waits.js';

/** A row has at most some 150 KiB: what a tool keeps, and what it asked for. */
const ROWS_AT_ONCE = 16;

/** Reads the calls of a run that wait, or that went on after a wait, a few at a time. */
export async function* keptWaits(db: Knex, runId: string): AsyncGenerator<KeptWait, void> {
  let after = '';
  for (;;) {
    const rows: { call_id: string; waiting: string | null; resumed: string | null }[] = await db('holdfast.calls')
      .where({ run_id: runId })
      .where('call_id', '>', after)
      .whereRaw('(waiting is not null or resumed is not null)')
      .orderBy('call_id')
      .limit(ROWS_AT_ONCE)
      .select('call_id', 'waiting', 'resumed');
    yield* rows.map(({ call_id: callId, waiting, resumed }) => ({ callId, waiting, resumed }));
    const last = rows.at(-1);
    if (last === undefined || rows.length < ROWS_AT_ONCE) return;
    after = last.call_id;
  }
}
