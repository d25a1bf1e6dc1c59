import { expect, it } from 'vitest';
import { type CandidateProgress, nextAttempt } from '../../../src/core/routing/route-failure.js';

const fresh: CandidateProgress = { group: 0, tries: 0, readyAt: 0, last: false, out: false };
const failed = (readyAt: number): CandidateProgress => ({ ...fresh, tries: 1, readyAt });
const next = (members: readonly CandidateProgress[], now: number) =>
  nextAttempt(
    members.map((_, place) => place),
    new Map(members.entries()),
    { attempts: 2, now, waitLeftMs: 1000 },
  );

it('no one is asked again before everybody was asked, however short the wait or long the failure before', () => {
  expect(next([failed(1), fresh], 0)).toEqual({ type: 'try', place: 1 });
  expect(next([failed(1), fresh], 1)).toEqual({ type: 'try', place: 1 });
  expect(next([failed(1), failed(9), fresh], 60_000)).toEqual({ type: 'try', place: 2 });
  expect(next([failed(1), failed(9)], 60_000)).toEqual({ type: 'try', place: 0 });
  expect(next([failed(20), failed(9)], 5)).toEqual({ type: 'wait', ms: 4 });
});

it('the fallback is asked when no one of the first group can be', () => {
  const fallback = { ...fresh, group: 1 };
  expect(next([failed(1), fallback], 60_000)).toEqual({ type: 'try', place: 0 });
  expect(next([{ ...failed(1), tries: 2 }, fallback], 60_000)).toEqual({ type: 'try', place: 1 });
  expect(
    next(
      [
        { ...failed(1), out: true },
        { ...fallback, out: true },
      ],
      0,
    ),
  ).toEqual({ type: 'over' });
});
