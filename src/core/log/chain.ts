import { createHmac } from 'node:crypto';
import { canonical, sha256 } from '../json.js';
import type { EventDraft, RunEvent } from './event.js';
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

/** The salt of one payload. Who has it can check that payload, and no other. */
export const dataSalt = (runKey: string, seq: number): Buffer =>
  createHmac('sha256', Buffer.from(runKey, 'hex')).update(String(seq)).digest();

/**
 * Commits to a payload without revealing it: HMAC-SHA256 under a salt that only the run's key gives. When the key is
 * erased, no one can test guesses of the payload any more, and the chain stays whole.
 */
export function dataHash(runKey: string, seq: number, dataText: string): string {
  const salt = dataSalt(runKey, seq);
  return `hmac-sha256:${createHmac('sha256', salt).update(dataText, 'utf8').digest('hex')}`;
}

const HMAC_BLOCK_BYTES = 64;

/** The salt of a payload as HMAC mixes it in (RFC 2104), in hex, for the caller that has SHA-256 alone and the payload. */
export function dataPads(runKey: string, seq: number): { readonly inner: string; readonly outer: string } {
  const salt = dataSalt(runKey, seq);
  const pad = (byte: number) =>
    Buffer.from(Array.from({ length: HMAC_BLOCK_BYTES }, (_, at) => (salt[at] ?? 0) ^ byte)).toString('hex');
  return { inner: pad(0x36), outer: pad(0x5c) };
}

/**
 * SHA-256 over exactly the named fields in canonical JSON, with `dataHash` in place of `data`. They are texts and numbers, and
 * stand here in the order of their names (RFC 8785), as JSON.stringify writes them.
 */
export function eventHash(event: Omit<RunEvent, 'hash' | 'data' | 'id'>): string {
  const { at, dataHash, kind, parentId, prevHash, runId, seq, tenant, v } = event;
  const { stateHashAfter, stateHashBefore, stateVersion } = event;
  const states = { stateHashAfter, stateHashBefore, stateVersion };
  return sha256(JSON.stringify({ at, dataHash, kind, parentId, prevHash, runId, seq, ...states, tenant, v }));
}

export interface Sealed {
  readonly event: RunEvent;
  readonly dataText: string;
  readonly head: Head;
}

/** Chains one draft to a head. `now` is an ISO time in UTC; where clocks disagree, time stops but never goes back. */
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
