import { expect, test } from 'vitest';
import { passRateOf } from '../../../src/core/tasks/pass-rate.js';

test('a pass rate has the interval of Wilson, which stays within 0 and 1', () => {
  expect(passRateOf(0, 0)).toBeNull();
  // Numbers of R: prop.test(8, 10, correct = FALSE), and of (0, 10), (10, 10), (903, 1412).
  for (const [passed, ended, low, high] of [
    [8, 10, 0.4901625, 0.943318],
    [0, 10, 0, 0.2775328],
    [10, 10, 0.7224672, 1],
    [903, 1412, 0.6140815, 0.6641714],
  ] as const) {
    const rate = passRateOf(passed, ended);
    expect(rate?.value).toBe(passed / ended);
    expect(rate?.low).toBeCloseTo(low, 4);
    expect(rate?.high).toBeCloseTo(high, 4);
  }
});
