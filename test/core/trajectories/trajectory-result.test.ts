import { describe, expect, it } from 'vitest';
import { ERRORS } from '../../../src/core/errors/errors.js';
import {
  type Judgement,
  type RunEnd,
  resultOf,
  trajectoryResult,
} from '../../../src/core/trajectories/trajectory-result.js';
import { codes, pageText, section } from '../../docs/pages.js';

const end = (status: RunEnd['status'], code?: string): RunEnd => ({
  status,
  error: code === undefined ? null : { code, message: `It was ${code}.` },
  cancelReason: status === 'cancelled' ? 'Not needed.' : null,
});
const judged = (reward: number, more: Partial<Judgement> = {}): Judgement => ({
  ...{ reward, signals: {}, verificationPassed: null, reason: null },
  ...more,
});

describe('the result of a run', () => {
  it('is none while it goes on, whatever was said of it', () => {
    for (const status of ['queued', 'running', 'paused'] as const) expect(resultOf(end(status), judged(1))).toBe(null);
  });

  it('of one that completed follows the reward, and the verification before it', () => {
    const of = (said: Judgement | null) => resultOf(end('completed'), said);
    expect(of(null)).toEqual({ type: 'success', reward: null });
    expect(of(judged(1))).toEqual({ type: 'success', reward: 1 });
    expect(of(judged(7))).toEqual({ type: 'success', reward: 7 });
    expect(of(judged(0.2, { verificationPassed: true }))).toEqual({ type: 'success', reward: 0.2 });
    expect(of(judged(0.4, { signals: { tests: 1, lint: 0.9, build: 0 } }))).toEqual({
      ...{ type: 'partial_success', reward: 0.4, missing: ['build', 'lint'] },
    });
    expect(of(judged(1, { verificationPassed: false }))).toEqual({ type: 'partial_success', reward: 1, missing: [] });
    expect(of(judged(0))).toEqual({ type: 'failure', reason: 'The reward is 0.' });
    expect(of(judged(-1, { reason: 'Wrong file.' }))).toEqual({ type: 'failure', reason: 'Wrong file.' });
  });

  it('of one that did not complete never is a success', () => {
    expect(resultOf(end('failed', 'limit_turns'), judged(1, { verificationPassed: true }))).toEqual({
      ...{ type: 'partial_success', reward: 1, missing: ['completion'] },
    });
    expect(resultOf(end('cancelled'), judged(0.5, { signals: { tests: 0 } }))).toEqual({
      ...{ type: 'partial_success', reward: 0.5, missing: ['completion', 'tests'] },
    });
    expect(resultOf(end('cancelled'), null)).toEqual({ type: 'failure', reason: 'Not needed.' });
  });

  it('of every error is what docs/data/trajectories.md says', () => {
    const rows = section(pageText('docs/data/trajectories.md'), '## Result').split('\n');
    const named = (type: string) =>
      codes(rows.find((row) => row.startsWith('| failed by') && row.endsWith(`| \`${type}\` |`))?.split('|')[1] ?? '');
    const [timeouts, failures] = [named('timeout'), named('failure')];
    expect([timeouts.length, failures.length]).toEqual([3, 9]);
    for (const code of Object.keys(ERRORS)) {
      const type = timeouts.includes(code) ? 'timeout' : failures.includes(code) ? 'failure' : 'error';
      const result = trajectoryResult.parse(resultOf(end('failed', code), judged(0)));
      expect([code, result.type]).toEqual([code, type]);
    }
  });
});
