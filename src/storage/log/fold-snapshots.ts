import type { Knex } from 'knex';
import { sha256 } from '../../core/json.js';
import { eventHash, type Head } from '../../core/log/chain.js';
import type { RunState } from '../../core/log/state.js';
import { readLogPage } from '../evidence/log-pages.js';

/** A state that is kept: as it is stored, whether it fits the log or not. */
export interface KeptFold {
  readonly seq: number;
  readonly hash: string;
  readonly state: string;
  readonly stateHash: string;
}

const kept = (db: Knex, runId: string) =>
  db('holdfast.fold_snapshots').where({ run_id: runId }).select('seq', 'hash', 'state', 'state_hash as stateHash');

/** All that are kept of a log, oldest first. */
export const readFolds = (db: Knex, runId: string): Promise<KeptFold[]> => kept(db, runId).orderBy('seq');

/** Whether a kept state is that of the log at an event, which is known to be sound or is at least itself unchanged. */
export const fits = (fold: KeptFold, at: { readonly hash: string; readonly stateHash: string }): boolean =>
  fold.hash === at.hash && fold.stateHash === at.stateHash && sha256(fold.state) === at.stateHash;

/**
 * The last place of a log, up to an event, whose state is kept and fits the chain; null: there is none. One that does not fit
 * is passed over.
 */
export async function soundPlace(
  db: Knex,
  { id, tenant }: { readonly id: string; readonly tenant: string },
  atMost: number,
): Promise<Head | null> {
  for (let below = atMost + 1; ; ) {
    const [fold]: KeptFold[] = await kept(db, id).where('seq', '<', below).orderBy('seq', 'desc').limit(1);
    if (fold === undefined) return null;
    const { seq, hash, stateHash } = fold;
    const [event] = (await readLogPage(db, id, seq - 1, 1)).rows;
    const isThere = event?.seq === seq && event.tenant === tenant && event.hash === eventHash(event);
    if (isThere && fits(fold, { hash: event.hash, stateHash: event.stateHashAfter })) {
      // Its hash is that of the log, which only a state of the fold has.
      const state: RunState = JSON.parse(fold.state);
      return { runId: id, tenant, seq, hash, state, stateHash, at: event.at };
    }
    below = seq;
  }
}
