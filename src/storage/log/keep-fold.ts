import { canonical } from '../../core/json.js';
import type { Head } from '../../core/log/chain.js';

/** So many events lie between two states that are kept of a log, about. */
export const FOLD_EVERY = 1000;

/** Whether a state is kept at the end of events that are written: once in so many of a log. */
export const keepsFold = (before: number, after: number): boolean =>
  Math.floor(before / FOLD_EVERY) !== Math.floor(after / FOLD_EVERY);

/** Part of the statement that writes events: keeps the state at their end, if the head is still the one that they follow. */
export const FOLDED = `, folded as (
       insert into holdfast.fold_snapshots (run_id, seq, tenant, hash, state, state_hash)
       select run_id, ?::int, ?, ?, ?, ? from head on conflict do nothing)`;

export const foldedBy = ({ seq, tenant, hash, state, stateHash }: Head) => [
  ...[seq, tenant, hash, canonical(state), stateHash],
];
