import type { JsonValue } from '../../../src/core/json.js';
import { eventHash, genesis, type Head, seal } from '../../../src/core/log/chain.js';
import type { EventDraft, RunEvent } from '../../../src/core/log/event.js';
import { callDigest } from '../../../src/core/runs/call.js';

/** A log as a run writes it: a call that was allowed, a call that a person approved, and a second segment. */

export const RUN_ID = 'run_1';
export const RUN_KEY = 'ab'.repeat(32);
const AT = '2026-01-01T00:00:00.000Z';
const POLICY = 'sha256:policy';

export const digestFor = (callId: string, args: JsonValue, tool = 'pay'): string =>
  callDigest({ runId: RUN_ID, callId, tool, toolVersion: '1', arguments: args, policyVersion: POLICY });

const usage = { inputTokens: 1, outputTokens: 2, totalTokens: 3 };
const limits = { maxTurns: 9, maxTotalTokens: null, maxDurationMs: null };
type Checked = Extract<EventDraft, { kind: 'call.checked' }>['data'];

export const checked = (
  key: string,
  callId: string,
  decision: Checked['decision'],
  more: Partial<Checked> = {},
): Extract<EventDraft, { kind: 'call.checked' }> => {
  const effect: 'allow' | 'ask' | 'deny' = decision === 'invalid' ? 'deny' : decision;
  const checks = [{ capability: 'tool:call:pay', effect, rule: null, reason: 'r' }];
  const judged = {
    effect: 'unsafe' as const,
    arguments: { n: 1 },
    digest: digestFor(callId, { n: 1 }),
    decision,
    checks,
  };
  const data = { callId, tool: 'pay', toolVersion: '1', reason: 'r', ...judged, ...more };
  return { key, parentKey: 'created', kind: 'call.checked', data } as const;
};
export const started = (key: string, callId: string, tool = 'pay') =>
  ({ key, parentKey: 'created', kind: 'call.started', data: { callId, tool, effect: 'unsafe' } }) as const;
export const finished = (key: string, callId: string): EventDraft => ({
  ...{ key, parentKey: 'created', kind: 'call.finished' },
  data: { callId, tool: 'pay', outcome: { type: 'output', output: { paid: 1 } } },
});
const segment = (number: number, decisions: string[] = []): EventDraft => ({
  ...{ key: `${number}:0`, parentKey: 'created', kind: 'segment.started' },
  data: { segment: number, decisions },
});
const turn = (key: string, number: number): EventDraft[] => [
  {
    ...{ key: `${key}a`, parentKey: 'created', kind: 'model.requested' },
    data: { turn: number, agent: 'a', model: 'm', inputItems: 1, inputDigest: 'd', tools: ['pay'] },
  },
  {
    ...{ key: `${key}b`, parentKey: `${key}a`, kind: 'model.responded' },
    data: { turn: number, agent: 'a', model: 'm', responseId: null, output: [{ type: 'message' }], usage },
  },
];
const asks = 'int_1';
export const requested: EventDraft = {
  ...{ key: `interruption:${asks}`, parentKey: 'created', kind: 'interruption.requested' },
  data: {
    ...{ id: asks, kind: 'approval', callId: 'c2', tool: 'pay', reason: 'grant_ask', text: 't' },
    ...{ digest: digestFor('c2', { n: 1 }), expiresInMs: null },
  },
};
export const decided: Extract<EventDraft, { kind: 'interruption.decided' }> = {
  ...{ key: `decision:${asks}`, parentKey: requested.key, kind: 'interruption.decided' },
  data: { id: asks, verdict: 'approve', actor: 'ann', message: null, value: null, digest: digestFor('c2', { n: 1 }) },
};

export const LOG: readonly EventDraft[] = [
  {
    ...{ key: 'created', parentKey: null, kind: 'run.created' },
    data: {
      ...{ agent: 'a', agentVersion: '1', agentHash: 'h', input: 'go', grants: [], policyVersion: POLICY },
      ...{ limits, metadata: {} },
    },
  },
  segment(0),
  ...turn('0:1', 1),
  checked('0:2', 'c1', 'allow'),
  checked('0:3', 'c2', 'ask'),
  started('0:4', 'c1'),
  finished('0:5', 'c1'),
  requested,
  { key: '0:paused', parentKey: requested.key, kind: 'run.paused', data: { segment: 0, interruptions: [asks] } },
  decided,
  segment(1, [asks]),
  checked('1:1', 'c2', 'ask'),
  started('1:2', 'c2'),
  finished('1:3', 'c2'),
  ...turn('1:4', 2),
  { key: 'end', parentKey: '1:4b', kind: 'run.completed', data: { output: 'done' } },
];

export interface SealedLog {
  readonly events: readonly RunEvent[];
  readonly head: Head;
}

/** Chains drafts as a run does. What follows from a key that is not there follows from the first event. */
export function sealLog(drafts: readonly EventDraft[], runId = RUN_ID): SealedLog {
  let head = genesis(runId, 'default');
  const seqOf = new Map<string, number>();
  const events = drafts.map((draft, index) => {
    const parent = index === 0 ? null : `${runId}:${seqOf.get(draft.parentKey ?? '') ?? 1}`;
    const sealed = seal(head, draft, parent, AT, RUN_KEY);
    head = sealed.head;
    seqOf.set(draft.key, head.seq);
    return sealed.event;
  });
  return { events, head };
}

/** Changes one event and computes every hash from there on again, as someone can who writes to the database. */
export function rechained(log: SealedLog, seq: number, change: (event: RunEvent) => RunEvent): SealedLog {
  let { head } = log;
  let prevHash: string | null = null;
  const events = log.events.map((event) => {
    if (event.seq < seq) return event;
    const changed: RunEvent = event.seq === seq ? change(event) : event;
    const linked = prevHash === null ? changed : { ...changed, prevHash };
    const sealed = { ...linked, hash: eventHash(linked) };
    prevHash = sealed.hash;
    head = { ...head, hash: sealed.hash };
    return sealed;
  });
  return { events, head };
}
