import { expect, it } from 'vitest';
import type { KeyedEvent } from '../../../src/core/log/recording.js';
import { attemptPoint } from '../../../src/core/replay/fork-files.js';

/** From where a further attempt goes on, by the moment of which files are kept. */

type Part = readonly [kind: string, key: string, data: KeyedEvent['data']];

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
const created: Part = [
  'run.created',
  'created',
  {
    ...{ agent: 'a', agentVersion: '1', agentHash: 'h', input: 'go', grants: [], policyVersion: 'p', metadata: {} },
    limits: { maxTurns: 10, maxTotalTokens: null, maxDurationMs: null },
  },
];
const asked = (turn: number): Part => [
  'model.requested',
  `0:turn:${turn}:asked`,
  { turn, agent: 'a', model: 'm', inputItems: 1, inputDigest: 'd', tools: ['t'] },
];
const answered = (turn: number, segment: number, ...callIds: string[]): Part => [
  'model.responded',
  `${segment}:turn:${turn}`,
  {
    ...{ turn, agent: 'a', model: 'm', responseId: null, usage },
    output: callIds.map((callId) => ({ type: 'function_call', callId, name: 't', arguments: '{}' })),
  },
];
const checked = (callId: string, segment = 0, capability = 'container:exec:shell'): Part => [
  'call.checked',
  `${segment}:check:${callId}`,
  {
    ...{ callId, tool: 't', toolVersion: '1', effect: 'unsafe', arguments: {}, digest: 'd', decision: 'allow' },
    ...{ reason: 'r', checks: [{ capability, effect: 'allow', rule: 'r', reason: 'r' }] },
  },
];
const started = (callId: string, segment = 0): Part => [
  'call.started',
  `${segment}:start:${callId}`,
  { callId, tool: 't', effect: 'unsafe' },
];
const finished = (callId: string, segment = 0): Part => [
  'call.finished',
  `${segment}:end:${callId}`,
  { callId, tool: 't', outcome: { type: 'output', output: {} } },
];
const stopped = (callId: string): Part => [
  'call.finished',
  `0:end:${callId}`,
  { callId, tool: 't', outcome: { type: 'error', code: 'command_unknown', message: 'm' } },
];
const begin = (segment: number, decisions: string[] = []): Part => [
  'segment.started',
  `${segment}:0`,
  { segment, decisions },
];
const paused: Part = ['run.paused', '0:paused', { segment: 0, interruptions: ['i'] }];
const decided: Part = [
  'interruption.decided',
  'decision:i',
  { id: 'i', verdict: 'answer', actor: 'bob', message: null, value: 'yes', digest: 'd' },
];
const failed: Part = ['run.failed', 'end', { error: { code: 'model_failed', message: 'm', hint: 'h' } }];

const logOf = (...parts: readonly Part[]): readonly KeyedEvent[] =>
  [created, ...parts].map(([kind, key, data], index) => ({
    ...{ seq: index + 1, key, parentKey: null, kind, data },
  }));
const seqOf = (log: readonly KeyedEvent[], key: string): number => log.find((one) => one.key === key)?.seq ?? 0;

const first = [begin(0), answered(1, 0, 'one'), checked('one'), started('one'), finished('one')];

it('goes on after the pause, as far as nothing else has worked on the files', () => {
  const log = logOf(
    ...[
      ...first,
      paused,
      decided,
      begin(1, ['i']),
      answered(2, 1, 'two'),
      checked('two', 1),
      started('two', 1),
      failed,
    ],
  );
  expect(attemptPoint(log, seqOf(log, '0:paused'))).toBe(seqOf(log, '1:check:two'));
});

it('goes on at the end where every call has ended, and asks the model again', () => {
  const log = logOf(...first, asked(2), failed);
  expect(attemptPoint(log, seqOf(log, 'end'))).toBe(seqOf(log, '0:end:one'));
});

it.each([
  ['no end', []],
  ['one by which the run ended', [stopped('two')]],
])('does not with files under which a command was at work that has %s', (_what, end) => {
  const log = logOf(...[...first, answered(2, 0, 'two'), checked('two'), started('two'), ...end, failed]);
  expect(attemptPoint(log, seqOf(log, 'end'))).toBeNull();
  expect(attemptPoint(log, seqOf(log, '0:end:one'))).toBe(seqOf(log, '0:check:two'));
});

it('goes back before a call whose end no one knows, also one that leaves files alone', () => {
  const elsewhere = [checked('far', 1, 'net:connect:example'), started('far', 1)];
  const log = logOf(...[...first, paused, decided, begin(1, ['i']), answered(2, 1, 'far'), ...elsewhere, failed]);
  expect(attemptPoint(log, seqOf(log, '0:paused'))).toBe(seqOf(log, '1:check:far'));
});
