import { z } from 'zod';

/** What every log keeps to, by names that stay: `verify` names the one that is broken. `npm run docs` writes them into docs/events.md. */
export const INVARIANTS = {
  event_order: 'Events are numbered 1, 2, 3 … without a gap, and none is there twice.',
  event_identity: 'An event has format 1, belongs to the run and the tenant of its log, and its id is `<runId>:<seq>`.',
  event_link: 'prevHash is the hash of the event before.',
  event_hash: 'hash fits the fields of the event.',
  event_parent: 'An event follows from an earlier one of its log; only the first follows from none.',
  time_order: 'Each time is one in UTC with milliseconds, and none is before that of the event before.',
  kind_known: 'The kind is one that this build knows.',
  payload_shape: 'A payload has the shape of its kind.',
  payload_text: 'A payload is stored as its canonical bytes.',
  payload_hash: 'dataHash fits the payload; where the key is gone, so is the payload.',
  state_version: 'stateVersion rises by one.',
  state_before: 'stateHashBefore is the state after the event before.',
  state_after: 'stateHashAfter is what the event makes of the state.',
  state_transition:
    'The status of the run allows the event: it is created first, works within segments, and waits or ends from there.',
  terminal_last: 'Nothing comes after the event that ends the run.',
  segment_order: 'Numbers of segments only rise, and what ends a segment names the one that works.',
  turn_order: 'Turns rise by one, and a model answers the turn that it was asked last.',
  call_checked: 'No call starts or ends without a check of it.',
  call_allowed:
    'No call starts that its check did not allow and no decision approved; a check allows only what every grant allows.',
  call_digest: 'The digest of a call is that of its run, tool, arguments and policy.',
  call_intent: 'No call has an effect, an unknown end or a run of its own before it has started.',
  call_once: 'A call ends once, and is not judged again after that.',
  child_known: 'The runs that end below were started by calls of this log.',
  interruption_once: 'What is decided was asked before, and is decided once.',
  decision_known: 'Segments and standing decisions follow from decisions of this log.',
  decision_bound: 'A decision has the digest that was asked for.',
  log_end: 'The log ends where the head of the run says: with that number, hash and state.',
  log_entry: 'What the log over all runs says of the run, and checkpoints commit to, is what its log says.',
  run_row: 'The row of the run says what the log says: that it is over, how, and with which result.',
  copied_rows: 'Rows that say again what the log says have the same as it: docs/evidence/rows.md names them.',
} as const;

export type Invariant = keyof typeof INVARIANTS;
export const INVARIANT_NAMES = Object.keys(INVARIANTS) as [Invariant, ...Invariant[]];

/** The first thing that is wrong with a log. */
export const broken = z.object({
  seq: z.int().describe('The event that is broken or missing.'),
  invariant: z.enum(INVARIANT_NAMES).describe('Which invariant: docs/events.md lists them.'),
  what: z.string(),
});
export type Broken = z.infer<typeof broken>;

/** A broken invariant, wherever it is. */
export type Fault = Omit<Broken, 'seq'>;

export const fault = (invariant: Invariant, what: string): Fault => ({ invariant, what });
