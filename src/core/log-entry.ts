import { canonical } from './json.js';
import { leafHash } from './merkle.js';

/**
 * What the log over all runs says of one of them: that its log had `seq` events, of which the last has the hash `hash`. By the
 * chain, that is said of every event before.
 */
export interface LogEntry {
  readonly v: 1;
  readonly runId: string;
  readonly tenant: string;
  readonly seq: number;
  readonly hash: string;
  readonly stateHash: string;
  /** The event is the last that the run ever has. */
  readonly complete: boolean;
  /** Leaf hash of the entry before of the same run; null: this is its first. */
  readonly previous: string | null;
}

/** The hash of the leaf that an entry is in the tree. */
export const leafOf = ({ v, runId, tenant, seq, hash, stateHash, complete, previous }: LogEntry): string =>
  leafHash(canonical({ v, runId, tenant, seq, hash, stateHash, complete, previous }));
