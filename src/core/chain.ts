import { createHmac } from 'node:crypto';
import type { EventData, EventDraft, EventKind, RunEvent } from './event.js';
import { EVENT_DATA, TERMINAL_KINDS } from './event.js';
import { canonical, digestOf, sha256 } from './json.js';
import { EMPTY_STATE, fold, type RunState, stateHash } from './state.js';

/** Where a log ends: what the next event is chained to. */
export interface Head {
  readonly runId: string;
  readonly tenant: string;
  readonly seq: number;
  readonly hash: string;
  readonly state: RunState;
  readonly stateHash: string;
  /** Time of the last event; '' before the first. */
  readonly at: string;
}

/** The head of an empty log. Its hash binds the chain to its run, so that no log can be passed off as another's. */
export const genesis = (runId: string, tenant: string): Head => ({
  runId,
  tenant,
  seq: 0,
  hash: sha256(`holdfast:v1\n${tenant}\n${runId}`),
  state: EMPTY_STATE,
  stateHash: stateHash(EMPTY_STATE),
  at: '',
});

/**
 * Commits to a payload without revealing it: HMAC-SHA256 under a salt that only the run's key gives. When the key is
 * erased, nobody can test guesses of the payload any more, and the chain stays whole.
 */
export function dataHash(runKey: string, seq: number, dataText: string): string {
  const salt = createHmac('sha256', Buffer.from(runKey, 'hex')).update(String(seq)).digest();
  return `hmac-sha256:${createHmac('sha256', salt).update(dataText, 'utf8').digest('hex')}`;
}

/** SHA-256 over exactly the named fields in canonical JSON, with `dataHash` in place of `data`. */
export function eventHash(event: Omit<RunEvent, 'hash' | 'data' | 'id'>): string {
  const { v, runId, tenant, seq, parentId, kind, at, stateVersion, stateHashBefore, stateHashAfter, prevHash } = event;
  return digestOf({
    ...{ v, runId, tenant, seq, parentId, kind, at, dataHash: event.dataHash },
    ...{ stateVersion, stateHashBefore, stateHashAfter, prevHash },
  });
}

export interface Sealed {
  readonly event: RunEvent;
  readonly dataText: string;
  readonly head: Head;
}

/** Chains one draft to a head. `now` is an ISO time in UTC; where clocks disagree, time stands still but never goes back. */
export function seal(head: Head, draft: EventDraft, parentId: string | null, now: string, runKey: string): Sealed {
  const at = now < head.at ? head.at : now;
  const seq = head.seq + 1;
  const dataText = canonical(draft.data);
  const state = foldDraft(head.state, draft);
  const body = {
    v: 1 as const,
    runId: head.runId,
    tenant: head.tenant,
    seq,
    parentId,
    kind: draft.kind,
    at,
    dataHash: dataHash(runKey, seq, dataText),
    stateVersion: seq,
    stateHashBefore: head.stateHash,
    // Some kinds leave the state as it is.
    stateHashAfter: state === head.state ? head.stateHash : stateHash(state),
    prevHash: head.hash,
  };
  const hash = eventHash(body);
  return {
    event: { id: `${head.runId}:${seq}`, ...body, data: draft.data, hash },
    dataText,
    head: { ...head, seq, hash, state, stateHash: body.stateHashAfter, at },
  };
}

const foldDraft = (state: RunState, draft: EventDraft): RunState => fold(state, draft.kind, draft.data as never);

export interface Broken {
  readonly seq: number;
  readonly what: string;
}

/** What `verify` says: the first broken event, or how far the log is whole. */
export interface VerifyReport {
  readonly runId: string;
  readonly ok: boolean;
  readonly events: number;
  readonly headHash: string;
  /** Whether the log ends with a terminal event. A run that still goes on is not complete, which breaks nothing. */
  readonly complete: boolean;
  readonly broken: Broken | null;
}

const isKind = (kind: string): kind is EventKind => Object.hasOwn(EVENT_DATA, kind);

/** Checks one event against the head before it. `runKey` null: payloads were erased and only the chain is checked. */
export function checkEvent(head: Head, event: RunEvent, runKey: string | null): Head | Broken {
  const broken = (what: string): Broken => ({ seq: head.seq + 1, what });
  const seq = head.seq + 1;
  if (event.seq !== seq)
    return broken(`expected event ${seq}, found event ${event.seq}: one is missing, doubled or moved`);
  if (event.runId !== head.runId || event.tenant !== head.tenant) return broken('the event belongs to another run');
  if (event.id !== `${head.runId}:${seq}`) return broken('the id is not <runId>:<seq>');
  if (event.prevHash !== head.hash) return broken('prevHash is not the hash of the event before');
  if (event.hash !== eventHash(event)) return broken('hash does not fit the fields of the event');
  if (event.stateHashBefore !== head.stateHash)
    return broken('stateHashBefore is not the state after the event before');
  if (event.at < head.at) return broken('its time is before that of the event before');
  if (event.stateVersion !== seq) return broken('stateVersion does not rise by one');
  if (TERMINAL_KINDS.has(head.state.status === 'none' ? '' : `run.${head.state.status}`)) {
    return broken('the run was over before this event');
  }
  if (!isKind(event.kind)) return broken(`the kind ${event.kind} is unknown to this build`);
  const { hash, stateHashAfter, at } = event;
  if (runKey === null) return { ...head, seq, hash, stateHash: stateHashAfter, at };
  const data = EVENT_DATA[event.kind].safeParse(event.data);
  if (!data.success) return broken('the payload does not have the shape of its kind');
  if (event.dataHash !== dataHash(runKey, seq, canonical(event.data))) return broken('the payload was changed');
  const state = fold(head.state, event.kind, data.data as EventData<never>);
  if (event.stateHashAfter !== stateHash(state))
    return broken('stateHashAfter is not what the event makes of the state');
  return { ...head, seq, hash, state, stateHash: stateHashAfter, at };
}

/** Verifies a whole log. `claimed` is the head as the run's own row has it, which catches a cut tail. */
export function verifyLog(
  runId: string,
  tenant: string,
  events: Iterable<RunEvent>,
  runKey: string | null,
  claimed: { readonly seq: number; readonly hash: string },
): VerifyReport {
  let head = genesis(runId, tenant);
  let last: RunEvent | undefined;
  for (const event of events) {
    const next = checkEvent(head, event, runKey);
    if ('what' in next)
      return { runId, ok: false, events: head.seq, headHash: head.hash, complete: false, broken: next };
    head = next;
    last = event;
  }
  const complete = last !== undefined && TERMINAL_KINDS.has(last.kind);
  const cut = claimed.seq !== head.seq || claimed.hash !== head.hash;
  const broken = cut
    ? {
        seq: head.seq + 1,
        what: `the run claims ${claimed.seq} events, the log has ${head.seq}: its end is missing or was replaced`,
      }
    : null;
  return { runId, ok: !cut, events: head.seq, headHash: head.hash, complete, broken };
}
