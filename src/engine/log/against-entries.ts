import { leafOf } from '../../core/evidence/log-entry.js';
import type { Broken } from '../../core/log/invariant.js';
import { eventsAt } from '../../storage/evidence/log-check.js';
import { entriesOfRun } from '../../storage/evidence/log-entries.js';
import type { EngineContext } from '../engine-context.js';

/**
 * What entries of the log over all runs say against a log whose chain is whole up to an event: the first event that is missing or
 * another one, and the last before the first that is another one. An entry that was changed itself says nothing.
 */
export async function againstEntries(
  context: EngineContext,
  runId: string,
  chained: number,
): Promise<{ readonly broken: Broken | null; readonly valid: number }> {
  const { knex } = context.stepContext;
  const entries = (await entriesOfRun(knex, runId)).filter((entry) => entry.leaf === leafOf(entry));
  const at = new Map((await eventsAt(knex, entries)).map((event) => [event.seq, event]));
  let before = 0;
  for (const { index, seq, hash, stateHash } of entries) {
    const event = at.get(seq);
    const other = event !== undefined && (event.hash !== hash || event.stateHash !== stateHash);
    const what = `entry ${index} of the log of all runs commits to ${other ? 'another event here' : 'this event, which is missing'}`;
    const broken: Broken = { seq, invariant: 'log_entry', what };
    if (other && seq <= chained) return { broken, valid: before };
    if (event === undefined && seq > chained) return { broken, valid: chained };
    before = seq;
  }
  return { broken: null, valid: chained };
}
