import { describe, expect, it } from 'vitest';
import { canonical } from '../../../src/core/json.js';
import { dataHash } from '../../../src/core/log/chain.js';
import type { LoggedEvent } from '../../../src/core/log/check-log.js';
import type { EventDraft, RunEvent } from '../../../src/core/log/event.js';
import { INVARIANT_NAMES, type Invariant } from '../../../src/core/log/invariant.js';
import { verifyLog } from '../../harness/verify-log.js';
import {
  checked,
  decided,
  digestFor,
  finished,
  LOG,
  RUN_ID,
  RUN_KEY,
  rechained,
  requested,
  type SealedLog,
  sealLog,
  started,
} from './sealed-log.js';

const verify = ({ events, head }: SealedLog, key: string | null = RUN_KEY) =>
  verifyLog(RUN_ID, 'default', events, key, head);

const at = (key: string): number => LOG.findIndex((draft) => draft.key === key);
/** The log with other drafts in place of one. */
const instead = (key: string, ...drafts: readonly EventDraft[]): SealedLog =>
  sealLog(LOG.flatMap((draft) => (draft.key === key ? drafts : [draft])));
const draft = <K extends EventDraft['kind']>(kind: K, data: Extract<EventDraft, { kind: K }>['data'], key = 'new') =>
  ({ key, parentKey: 'created', kind, data }) as unknown as EventDraft;
const before = (key: string, ...drafts: readonly EventDraft[]): SealedLog =>
  instead(key, ...drafts, LOG[at(key)] as EventDraft);
const after = (key: string, ...drafts: readonly EventDraft[]): SealedLog =>
  instead(key, LOG[at(key)] as EventDraft, ...drafts);
/** Changes an event behind the back of the chain. */
const tampered = (seq: number, change: Partial<LoggedEvent>): SealedLog => {
  const log = sealLog(LOG);
  return { ...log, events: log.events.map((event) => (event.seq === seq ? { ...event, ...change } : event)) };
};
const forged = (seq: number, change: (event: RunEvent) => Partial<RunEvent>): SealedLog =>
  rechained(sealLog(LOG), seq, (event) => ({ ...event, ...change(event) }));
const recommitted = (seq: number, data: RunEvent['data']) => ({
  data,
  dataHash: dataHash(RUN_KEY, seq, canonical(data)),
});

const child = { childRunId: 'run_2', agent: 'b', agentVersion: '1', policyVersion: 'p', notGranted: [] };
const asked = { maxTurns: 1, maxTotalTokens: null, maxDurationMs: null };
const ended = { childRunId: 'run_2', status: 'completed' as const, events: 1, stateHash: 's' };
const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };

/** What breaks each invariant, beside what needs the rows of a run. */
const BROKEN: { readonly [I in Exclude<Invariant, 'run_row' | 'log_entry' | 'copied_rows'>]: readonly SealedLog[] } = {
  event_order: [{ ...sealLog(LOG), events: sealLog(LOG).events.filter(({ seq }) => seq !== 4) }],
  event_identity: [
    ...[tampered(3, { tenant: 'other' }), tampered(3, { id: 'run_2:3' })],
    forged(3, () => ({ v: 2 as 1 })),
  ],
  event_link: [tampered(4, { prevHash: 'sha256:0' })],
  event_hash: [tampered(4, { at: '2026-01-02T00:00:00.000Z' }), tampered(4, { v: 2 as 1 })],
  event_parent: [
    forged(4, () => ({ parentId: `${RUN_ID}:9` })),
    forged(4, () => ({ parentId: null })),
    forged(4, () => ({ parentId: 'run_2:1' })),
    forged(1, () => ({ parentId: `${RUN_ID}:0` })),
  ],
  time_order: [
    forged(5, () => ({ at: '2020-01-01T00:00:00.000Z' })),
    // None of them is a time as the engine writes it.
    ...['infinity', '2026-02-30T00:00:00.000Z', '2026-01-01T24:00:00.000Z', '2026-01-01T00:00:00Z', '20260-01-01'].map(
      (none) => forged(18, () => ({ at: none })),
    ),
  ],
  kind_known: [forged(5, () => ({ kind: 'call.imagined' }))],
  payload_shape: [forged(5, ({ seq }) => recommitted(seq, { callId: 'c1' }))],
  payload_text: [tampered(2, { dataText: '{"segment":0, "decisions":[]}' })],
  payload_hash: [tampered(2, { data: { segment: 0, decisions: ['x'] } })],
  state_version: [forged(5, () => ({ stateVersion: 7 }))],
  state_before: [forged(5, () => ({ stateHashBefore: 'sha256:0' }))],
  state_after: [forged(5, () => ({ stateHashAfter: 'sha256:0' }))],
  state_transition: [
    sealLog(LOG.slice(1)),
    after('created', LOG[0] as EventDraft),
    before('1:0', checked('new', 'c9', 'allow')),
    before('end', draft('run.cancelled', { reason: null })),
  ],
  terminal_last: [after('end', draft('run.cancel_requested', { actor: 'ann', reason: null }))],
  segment_order: [
    instead('1:0', draft('segment.started', { segment: 0, decisions: [] })),
    before('end', draft('segment.cut', { segment: 7, turns: 2 })),
    before('end', draft('segment.rebuilt', { segment: 1, from: 1, to: 2 })),
  ],
  turn_order: [
    instead('0:1a', { ...(LOG[at('0:1a')] as EventDraft), data: { ...LOG[at('0:1a')]?.data, turn: 2 } } as EventDraft),
    instead('1:4a'),
  ],
  call_checked: [instead('0:2'), instead('0:4', started('0:4', 'c1', 'look')), after('0:5', finished('new', 'c9'))],
  call_allowed: [
    instead('decision:int_1', { ...decided, data: { ...decided.data, verdict: 'reject' } }),
    instead('0:2', checked('0:2', 'c1', 'deny')),
    instead('0:2', checked('0:2', 'c1', 'allow', { checks: checked('', 'c1', 'deny').data.checks })),
    instead('1:1', checked('1:1', 'c2', 'ask', { arguments: { n: 9 }, digest: digestFor('c2', { n: 9 }) })),
  ],
  call_digest: [instead('0:2', checked('0:2', 'c1', 'allow', { digest: digestFor('c1', { n: 2 }) }))],
  call_intent: [
    instead('0:4'),
    before('0:4', draft('call.unknown', { callId: 'c1', tool: 'pay', text: 't' })),
    before('0:4', draft('child.started', { ...child, limits: asked, callId: 'c1' } as never)),
  ],
  call_once: [after('0:5', finished('new', 'c1')), after('0:5', checked('new', 'c1', 'allow'))],
  child_known: [before('end', draft('child.ended', { ...ended, callId: 'c1', usage }))],
  interruption_once: [
    after(requested.key, { ...requested, key: 'new' }),
    after(decided.key, { ...decided, key: 'new' }),
    instead(requested.key),
  ],
  decision_known: [
    instead('1:0', draft('segment.started', { segment: 1, decisions: ['int_9'] })),
    instead('0:2', checked('0:2', 'c1', 'allow', { standingDecision: 'std_1' })),
    before('end', draft('standing_decision.revoked', { id: 'std_1', actor: 'ann' })),
  ],
  decision_bound: [instead(decided.key, { ...decided, data: { ...decided.data, digest: 'sha256:0' } })],
  log_end: [
    { ...sealLog(LOG), events: sealLog(LOG).events.slice(0, -1) },
    { ...sealLog(LOG), head: { ...sealLog(LOG).head, stateHash: 'sha256:0' } },
  ],
};

describe('the invariants of a log', () => {
  it('hold in a log as runs write it', () => {
    expect(verify(sealLog(LOG))).toMatchObject({ ok: true, complete: true, broken: null, payloads: 'checked' });
  });

  it.each(Object.entries(BROKEN))('%s is named where it is broken', (invariant, logs) => {
    for (const [index, log] of logs.entries()) {
      const report = verify(log);
      expect({ index, ok: report.ok, invariant: report.broken?.invariant, what: report.broken?.what }).toMatchObject({
        index,
        ok: false,
        invariant,
      });
    }
  });

  it('are all tried here, or with the rows of runs', () => {
    expect([...Object.keys(BROKEN), 'run_row', 'log_entry', 'copied_rows'].sort()).toEqual([...INVARIANT_NAMES].sort());
  });

  it('of erased payloads hold as far as the chain goes; a payload whose key is gone does not', () => {
    const log = sealLog(LOG);
    const erased = { ...log, events: log.events.map((event) => ({ ...event, data: null })) };
    expect(verify(erased, null)).toMatchObject({ ok: true, complete: true, payloads: 'erased' });
    expect(verify(log, null).broken).toMatchObject({ seq: 1, invariant: 'payload_hash' });
    const unlike = (change: Partial<RunEvent>) =>
      verify(
        rechained(erased, 3, (event) => ({ ...event, ...change })),
        null,
      ).broken;
    expect(unlike({ dataHash: 'sha256:0' })).toMatchObject({ seq: 3, invariant: 'payload_hash' });
    expect(unlike({ stateHashAfter: 'none' })).toMatchObject({ seq: 3, invariant: 'state_after' });
    const longer = rechained(erased, 99, (event) => event);
    const last = erased.events.at(-1) as RunEvent;
    const { hash: prevHash, stateHashAfter: stateHashBefore } = last;
    const more = { ...last, id: `${RUN_ID}:19`, seq: 19, stateVersion: 19, prevHash, stateHashBefore };
    expect(last.seq).toBe(18);
    const report = verify(
      rechained({ ...longer, events: [...longer.events, more] }, 19, (event) => event),
      null,
    );
    expect(report.broken?.invariant).toBe('terminal_last');
  });
});
