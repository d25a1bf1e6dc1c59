import { describe, expect, it } from 'vitest';
import type { KeyedEvent } from '../../../src/core/log/recording.js';
import { planFork, retryPoint } from '../../../src/core/replay/fork.js';
import { rebindingOf, rebound } from '../../../src/core/replay/rebinding.js';

/** What of a log a fork is made of. That it runs is tested with engines: test/engine/replay/forks.test.ts. */

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
const requested = (turn: number) =>
  ['model.requested', { turn, agent: 'a', model: 'm', inputItems: 1, inputDigest: 'd', tools: ['pay'] }] as const;
const responded = (turn: number, callId?: string) => {
  const output = callId === undefined ? [] : [{ type: 'function_call', callId, name: 'pay', arguments: '{}' }];
  return ['model.responded', { turn, agent: 'a', model: 'm', responseId: null, output, usage }] as const;
};
const about = (callId: string) => ({ callId, tool: 'pay', effect: 'pure' });
const checked = (callId: string, more: object = {}) =>
  [
    'call.checked',
    {
      ...about(callId),
      toolVersion: '1',
      arguments: {},
      digest: `d-${callId}`,
      decision: 'ask',
      checks: [],
      reason: 'much',
      ...more,
    },
  ] as const;
const started = (callId: string) => ['call.started', about(callId)] as const;
const finished = (callId: string) =>
  ['call.finished', { callId, tool: 'pay', outcome: { type: 'output', output: 1 } }] as const;
const begin = (segment: number, ...decisions: string[]) => ['segment.started', { segment, decisions }] as const;
const asked = (id: string, callId: string, wait?: object) =>
  [
    'interruption.requested',
    {
      ...{
        id,
        kind: wait === undefined ? 'approval' : 'question',
        callId,
        tool: 'pay',
        text: 'Pay?',
        digest: `d-${callId}`,
      },
      ...{ reason: wait === undefined ? 'tool_rule' : 'question', expiresInMs: 5 },
      ...(wait === undefined ? {} : { wait }),
    },
  ] as const;
const paused = (segment: number, ...interruptions: string[]) => ['run.paused', { segment, interruptions }] as const;
const decided = (id: string, callId: string) =>
  [
    'interruption.decided',
    { id, verdict: 'approve', actor: 'bob', message: null, value: null, digest: `d-${callId}`, always: true },
  ] as const;
const made = (id: string, interruption: string) =>
  [
    'standing_decision.made',
    { id, interruption, agent: 'a', tool: 'pay', toolVersion: '1', scope: [], exact: true, actor: 'bob' },
  ] as const;
const revoked = (id: string) => ['standing_decision.revoked', { id, actor: 'ann' }] as const;
const question = { kind: 'question', text: 'Which?', choices: null, schema: null };

const created = [
  'run.created',
  {
    ...{ agent: 'a', agentVersion: '1', agentHash: 'h', input: 'go', grants: [], policyVersion: 'p', metadata: {} },
    limits: { maxTurns: 10, maxTotalTokens: null, maxDurationMs: null },
  },
] as const;

/** The natural keys of what segments do not derive. */
const KEYS: Readonly<Record<string, (id: string) => string>> = {
  'run.created': () => 'created',
  'interruption.requested': (id) => `interruption:${id}`,
  'interruption.decided': (id) => `decision:${id}`,
  'standing_decision.made': (id) => `standing:${id}`,
  'standing_decision.revoked': (id) => `standing:${id}:revoked`,
};

/** A log as the engine writes it. */
function logOf(...events: readonly (readonly [string, object])[]): KeyedEvent[] {
  let segment = 0;
  let ordinal = 0;
  let last: string | null = null;
  return [created, ...events].map(([kind, data], index) => {
    const { segment: begun = segment, id = '' } = data as { segment?: number; id?: string };
    if (begun !== segment) ordinal = 0;
    segment = begun;
    const named = KEYS[kind]?.(id);
    const key = named ?? `${segment}:${ordinal++}`;
    const event = { seq: index + 1, key, parentKey: last, kind, data: data as never };
    if (named === undefined) last = key;
    return event;
  });
}

const kinds = (events: readonly { readonly kind: string }[]) => events.map(({ kind }) => kind);

describe('a fork', () => {
  const standing = [
    ...[begin(0), requested(1), responded(1, 'a'), checked('a'), asked('int_1', 'a'), paused(0, 'int_1')],
    ...[decided('int_1', 'a'), made('std_1', 'int_1'), begin(1, 'int_1'), checked('a'), started('a'), finished('a')],
  ];

  it('asks a model again that had not answered, though something was revoked meanwhile', () => {
    const log = logOf(...standing, requested(2), revoked('std_1'));
    const { segment, events } = planFork(log, log.length, []);
    expect(segment).toBe(1);
    expect(kinds(events).slice(-2)).toEqual(['call.finished', 'standing_decision.revoked']);
    expect(kinds(planFork(log, log.length - 1, []).events).at(-1)).toBe('call.finished');
  });

  it('has what was revoked up to its event, also after an edit, and nothing of what was not made', () => {
    const log = logOf(...standing, requested(2), responded(2), revoked('std_1'));
    const edited = planFork(log, log.length, [{ turn: 2, output: [{ type: 'message' }] }]);
    expect(kinds(edited.events).slice(-2)).toEqual(['model.responded', 'standing_decision.revoked']);
    const before = planFork(log, log.length, [{ turn: 1, output: [{ type: 'message' }] }]);
    expect(kinds(before.events)).toEqual(['segment.started', 'model.requested', 'model.responded']);
  });

  it('gives what stands an id of its own, also where calls name it', () => {
    const reason = 'bob approved every such call (std_1).';
    const log = logOf(
      ...standing,
      requested(2),
      responded(2, 'b'),
      checked('b', { standingDecision: 'std_1', reason }),
      started('b'),
    );
    const { events } = planFork(log, log.length, []);
    const binding = rebindingOf(events, 'run_2', 'p');
    const id = binding.ids.get('std_1') ?? '';
    expect(id).toBe(binding.ids.get('int_1')?.replace('int_', 'std_'));
    const copies = events.map((event) => rebound(event, binding));
    expect(copies.find(({ kind }) => kind === 'standing_decision.made')).toMatchObject({
      ...{ key: `standing:${id}`, data: { id, interruption: binding.ids.get('int_1') } },
    });
    expect(copies.at(-2)?.data).toMatchObject({ standingDecision: id, reason: reason.replace('std_1', id) });
    expect(JSON.stringify(copies)).not.toMatch(/std_1|int_1/);
  });

  it('judges again what people allowed, unless a call beside it was begun', () => {
    const stands = { decision: 'allow', standingDecision: 'std_1' };
    const turn = [requested(2), responded(2, 'b'), checked('n', { decision: 'allow' }), checked('b', stands)] as const;
    const judged = planFork(logOf(...standing, ...turn, checked('c', stands)), 18, []);
    expect(judged.events.at(-1)).toMatchObject({ kind: 'call.checked', data: { callId: 'n' } });
    expect([...judged.begun.keys()]).toEqual(['a']);
    const begun = planFork(logOf(...standing, ...turn, checked('c', stands), started('b')), 19, []);
    expect(kinds(begun.events).at(-1)).toBe('call.started');
    expect(begun.begun.get('c')).toMatchObject({ outcome: null, by: ['bob'] });
    expect(begun.begun.get('b')).toMatchObject({ outcome: null, by: ['bob'] });
    expect(begun.begun.has('n')).toBe(false);
    const decidedOnly = logOf(...standing).slice(0, 11);
    expect(kinds(planFork(decidedOnly, 11, []).events).at(-1)).toBe('segment.started');
  });

  it('knows of begun calls their outcome, or what they came to wait for, though it came after the event', () => {
    const log = logOf(
      ...[begin(0), requested(1), responded(1, 'a'), checked('a'), started('a')],
      ...[asked('int_1', 'a', question), paused(0, 'int_1'), decided('int_1', 'a')],
      ...[begin(1, 'int_1'), checked('a'), started('a'), finished('a')],
    );
    const wait = { interruptionId: 'int_1', expiresInMs: 5 };
    for (const at of [6, 7, 8])
      expect(planFork(log, at, []).begun.get('a')).toMatchObject({ outcome: null, wait, agent: 'a' });
    expect(planFork(log, 5, []).begun.size).toBe(0);
    expect(planFork(log, 9, []).begun.get('a')).toMatchObject({ outcome: null, wait: null });
    expect(planFork(log, log.length, []).begun.get('a')).toMatchObject({ outcome: { output: 1 }, wait: null });
  });

  it('tries a failed run again from its last turn, if a call of it was begun, else before that', () => {
    expect(retryPoint(logOf(...standing, requested(2), ['model.failed', {}], ['run.failed', {}]))).toBe(13);
    expect(retryPoint(logOf(...standing, ['run.failed', {}]))).toBe(13);
    expect(retryPoint(logOf(...standing, requested(2), responded(2, 'b'), started('b'), ['run.failed', {}]))).toBe(16);
  });

  it('asks the model again where a call found no container engine, and keeps calls beside it that were done', () => {
    const away = (callId: string) =>
      [
        'call.finished',
        { callId, tool: 'pay', outcome: { type: 'error', code: 'engine_unreachable', message: 'away' } },
      ] as const;
    const turn = [...standing, requested(2), responded(2, 'b')] as const;
    expect(retryPoint(logOf(...turn, started('b'), away('b'), ['run.failed', {}]))).toBe(13);
    expect(retryPoint(logOf(...turn, started('a2'), finished('a2'), away('b'), ['run.failed', {}]))).toBe(17);
  });
});
