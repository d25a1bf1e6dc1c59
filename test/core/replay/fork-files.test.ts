import { expect, it } from 'vitest';
import type { KeyedEvent } from '../../../src/core/log/recording.js';
import { filesFit, hasWorked } from '../../../src/core/replay/fork-files.js';

/** Which files a fork may begin with, by the calls that it takes over. */

const log = (
  ...events: readonly (readonly [kind: string, callId?: string, capability?: string | undefined])[]
): KeyedEvent[] =>
  events.map(([kind, callId, capability], index) => ({
    ...{ seq: index + 1, key: String(index), parentKey: null, kind },
    data:
      kind === 'call.checked'
        ? {
            ...{ callId: callId ?? '', tool: 't', toolVersion: '1', effect: 'unsafe', arguments: {}, digest: 'd' },
            ...{ decision: 'allow', reason: 'r' },
            checks: capability === undefined ? [] : [{ capability, effect: 'allow', rule: 'r', reason: 'r' }],
          }
        : { callId: callId ?? '' },
  }));
const taken = (...callIds: readonly string[]) => ({
  begun: new Map(callIds.map((callId) => [callId, { wait: null }])),
  events: [],
});
const waiting = (callId: string) => ({
  begun: new Map([[callId, { wait: { interruptionId: 'i', expiresInMs: null } }]]),
  events: [],
});

const two = log(
  ['call.started', 'a'],
  ['call.finished', 'a'],
  ['run.paused'],
  ['call.started', 'b'],
  ['call.finished', 'b'],
);

it('fit where the fork knows of all that was begun by then, and of nothing later', () => {
  expect(filesFit(two, taken('a'), 3)).toBe(true);
  expect(filesFit(two, taken('a'), 2)).toBe(true);
  expect(filesFit(two, taken('a', 'b'), 5)).toBe(true);
});

it('do not where an effect would be missing, or there twice', () => {
  expect(filesFit(two, taken(), 3)).toBe(false);
  expect(filesFit(two, taken('a', 'b'), 3)).toBe(false);
  expect(filesFit(two, taken('a'), 4)).toBe(false);
  expect(filesFit(two, taken('a'), 1)).toBe(false);
});

it('what waited waits again', () => {
  const waits = log(['call.started', 'w'], ['run.paused'], ['call.finished', 'w']);
  expect(filesFit(waits, waiting('w'), 2)).toBe(true);
  expect(filesFit(waits, taken('w'), 2)).toBe(false);
});

it('calls that needed other capabilities leave files alone; of those that needed none no one knows', () => {
  const asks = (capability?: string) =>
    log(['call.checked', 'q', capability], ['call.started', 'q'], ['run.paused'], ['call.finished', 'q']);
  expect(filesFit(asks('human:ask:question'), taken('q'), 3)).toBe(true);
  expect(filesFit(asks('container:exec:shell'), taken('q'), 3)).toBe(false);
  expect(filesFit(asks(), taken('q'), 3)).toBe(false);
});

it('a call has worked in a container that ended after its start, or has not ended', () => {
  expect(hasWorked(two, taken('a'), 3)).toBe(false);
  expect(hasWorked(two, taken('a'), 2)).toBe(true);
  expect(hasWorked(two, taken('a', 'c'), 3)).toBe(true);
  expect(hasWorked(two, taken(), 1)).toBe(false);
});

it('so has what prepared it, which a fork that takes that over does not do again', () => {
  const prepared = log(['environment.prepared'], ['call.started', 'a'], ['call.finished', 'a'], ['run.paused']);
  const events = [{ kind: 'environment.prepared' as const }];
  expect(hasWorked(prepared, taken(), 1)).toBe(false);
  expect(hasWorked(prepared, { ...taken(), events }, 1)).toBe(true);
  expect(filesFit(prepared, { ...taken('a'), events }, 4)).toBe(true);
  expect(filesFit(prepared, taken('a'), 4)).toBe(false);
});
