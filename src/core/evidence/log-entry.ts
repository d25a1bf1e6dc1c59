import { canonical } from '../json.js';
import { leafHash } from './merkle.js';

/**
 * What the log over all runs says of one of them: that its log had `seq` events, and that the last has the hash `hash`. By the
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

/** What was done to a run as a whole: its content was erased, or it was removed with its log. */
export const LOSSES = ['erased', 'removed'] as const;
export type Loss = (typeof LOSSES)[number];

/** Says in the log over all runs what a run has lost, who took it away and why. Where payloads or a run are missing, one must stand. */
export interface LossEntry {
  readonly v: 1;
  readonly loss: Loss;
  readonly runId: string;
  readonly tenant: string;
  /** Where the log of the run ended then. */
  readonly seq: number;
  readonly hash: string;
  readonly actor: string;
  readonly reason: string;
  /** Leaf hash of the newest entry of the run; null: it has none. */
  readonly previous: string | null;
}

/**
 * Says in the log over all runs that a document of memory was removed with its history, who did so and why. The id of a document is
 * random: the entry does not say what the document was about, or whose it was.
 */
export interface ForgottenEntry {
  readonly v: 1;
  readonly loss: 'forgotten';
  readonly document: string;
  readonly space: string;
  readonly tenant: string;
  /** The version that the document had then. */
  readonly version: number;
  readonly actor: string;
  readonly reason: string;
}

/** Something that was taken away, of a run or of memory. */
export type TakenAway = LossEntry | ForgottenEntry;
export type AnyEntry = LogEntry | TakenAway;

/** The hash of the leaf that an entry is in the tree. */
export function leafOf(entry: AnyEntry): string {
  if ('document' in entry) {
    const { v, loss, document, space, tenant, version, actor, reason } = entry;
    return leafHash(canonical({ v, loss, document, space, tenant, version, actor, reason }));
  }
  const { v, runId, tenant, seq, hash, previous } = entry;
  const common = { v, runId, tenant, seq, hash, previous };
  if (!('loss' in entry))
    return leafHash(canonical({ ...common, stateHash: entry.stateHash, complete: entry.complete }));
  const { loss, actor, reason } = entry;
  return leafHash(canonical({ ...common, loss, actor, reason }));
}
