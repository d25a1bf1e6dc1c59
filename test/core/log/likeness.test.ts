import { describe, expect, it } from 'vitest';
import { EventNormalizer, isCompared } from '../../../src/core/log/compare-events.js';
import type { RunEvent } from '../../../src/core/log/event.js';

const RUN = 'run_0123456789abcdef';
const event = (kind: string, data: unknown) => ({ kind, data }) as RunEvent;
const answer = (turn: number, ...ids: string[]) =>
  event('model.responded', {
    turn,
    responseId: `resp_${ids.join()}`,
    cost: { usd: '1' },
    output: ids.map((callId) => ({ type: 'function_call', id: `fc_${callId}`, callId, name: 'pay', providerData: {} })),
  });
const read = (runId: string, asked: boolean, ...events: RunEvent[]) => {
  const likeness = new EventNormalizer(runId);
  return events.map((one) => likeness.of(one, asked));
};

describe('Likeness', () => {
  it('reads two runs alike that differ in made-up ids alone', () => {
    const log = (runId: string, call: string, int: string) => [
      answer(1, call),
      event('call.checked', { callId: call, digest: `d-${runId}`, reason: `${runId} may` }),
      event('interruption.requested', { id: int, callId: call, digest: `d-${call}` }),
      event('interruption.decided', { id: int, verdict: 'approve', digest: `d-${call}` }),
    ];
    const one = read(RUN, true, ...log(RUN, 'c1', 'int_00000000aa'));
    const other = read('run_ffffffffffffffff', true, ...log('run_ffffffffffffffff', 'zz', 'int_00000000bb'));
    expect(one).toEqual(other);
    expect(one[1]).toEqual({ callId: 'call 1.0', reason: 'this run may' });
  });

  it.each([
    ['the verdict', event('interruption.decided', { id: 'int_00000000aa', verdict: 'reject' })],
    ['the place of the call', event('call.finished', { callId: 'c2', outcome: { type: 'output', output: 1 } })],
    ['the outcome', event('call.finished', { callId: 'c1', outcome: { type: 'output', output: 2 } })],
  ])('tells two runs apart by %s', (_, changed) => {
    const base =
      changed.kind === 'interruption.decided'
        ? event(changed.kind, { id: 'int_00000000aa', verdict: 'approve' })
        : event(changed.kind, { callId: 'c1', outcome: { type: 'output', output: 1 } });
    expect(read(RUN, true, answer(1, 'c1', 'c2'), base)).not.toEqual(read(RUN, true, answer(1, 'c1', 'c2'), changed));
  });

  it('keeps an id that belongs to neither run', () => {
    const [said] = read(RUN, true, event('call.finished', { text: 'see run_aaaaaaaaaaaaaaaa' }));
    expect(said).toEqual({ text: 'see run_aaaaaaaaaaaaaaaa' });
  });

  it('compares the digest of a request only where it is asked to', () => {
    const request = event('model.requested', { turn: 1, inputDigest: 'd' });
    expect(read(RUN, true, request)).toEqual([{ turn: 1, inputDigest: 'd' }]);
    expect(read(RUN, false, request)).toEqual([{ turn: 1 }]);
  });

  it('numbers interruptions, standing decisions and children apart, in their order', () => {
    const ids = [
      event('interruption.requested', { id: 'int_00000000aa' }),
      event('standing_decision.made', { id: 'std_00000000aa' }),
      event('interruption.requested', { id: 'int_00000000bb' }),
      event('child.started', { childRunId: 'run_00000000cc', policyVersion: 'p' }),
    ];
    expect(read(RUN, true, ...ids)).toEqual([
      { id: 'interruption 1' },
      { id: 'standing decision 1' },
      { id: 'interruption 2' },
      { childRunId: 'child 1' },
    ]);
  });

  it('gives erased data as it is', () => {
    expect(read(RUN, true, event('model.responded', null))).toEqual([null]);
  });
});

describe('isCompared', () => {
  it('leaves out the events that say where a run comes from', () => {
    const kinds = ['run.created', 'run.forked', 'session.loaded', 'session.saved', 'segment.rebuilt', 'run.completed'];
    expect(kinds.filter((kind) => isCompared({ kind }))).toEqual(['run.completed']);
  });
});
