import { expect, it } from 'vitest';
import { alertsConfig } from '../../../src/core/agents/alert-rules.js';
import { fieldErrorsOf } from '../../../src/core/field-errors.js';

const problemsOf = (...rules: readonly object[]): Record<string, string> => {
  const named = rules.map((rule, at) => ({ name: `rule-${at}`, ...rule }));
  const { error } = alertsConfig.safeParse({ rules: named });
  const fields = error === undefined ? [] : fieldErrorsOf(error);
  return Object.fromEntries(fields.map(({ pointer, detail }) => [pointer.replace('/rules/', ''), detail]));
};
const threshold = (measure: string, bounds: object, more: object = {}) => ({
  ...{ measure, when: { type: 'threshold', ...bounds } },
  ...more,
});

it('a bound that the measure never passes, or always, is refused by name', () => {
  const found = problemsOf(
    threshold('passRate', { below: 50 }),
    threshold('errorRate', { above: 5 }),
    threshold('errorRate', { above: 1 }),
    threshold('timeoutRate', { above: -0.1 }),
    threshold('passRate', { below: 0 }),
    threshold('quality', { below: 80 }),
    threshold('turns', { below: 0 }),
    threshold('usd', { above: -1 }),
    threshold('errorRate', { above: 0.5, clear: -0.1 }),
    { measure: 'passRate', when: { type: 'change', below: -10 } },
    threshold('tasks', { below: 5 }),
    // A rule reads no more tasks than that.
    threshold('tasks', { above: 100_000 }, { minTasks: 0 }),
  );
  expect(found).toEqual({
    '0/when/below': 'expected a bound that can be passed: passRate is 0 to 1',
    '1/when/above': 'expected a bound that can be passed: errorRate is 0 to 1',
    '2/when/above': expect.any(String),
    '3/when/above': expect.any(String),
    '4/when/below': expect.any(String),
    '5/when/below': 'expected a bound that can be passed: quality is 0 to 1',
    '6/when/below': 'expected a bound that can be passed: turns is at least 0',
    '7/when/above': expect.any(String),
    '8/when/clear': expect.any(String),
    '9/when/below': 'expected a bound that can be passed: passRate changes by -1 to 1',
    '10/when/below': 'never fires: a window with fewer tasks than 10 says nothing (`minTasks`)',
    '11/when/above': 'expected a bound that can be passed: tasks is 0 to 100000',
  });
});

it('bounds that can be passed are taken', () => {
  const found = problemsOf(
    threshold('passRate', { below: 1, clear: 1 }),
    threshold('errorRate', { above: 0, clear: 0 }),
    threshold('reward', { below: -3 }),
    threshold('tasks', { below: 5 }, { minTasks: 0 }),
    threshold('tokens', { above: 100_000 }),
    threshold('tasks', { above: 99_999 }),
    { measure: 'passRate', when: { type: 'change', below: -0.2, clear: 0 } },
    { measure: 'passRate', when: { type: 'anomaly', below: -3 } },
    { measure: 'usd', when: { type: 'change', below: -5 } },
  );
  expect(found).toEqual({});
});

it('each rule of a name that another one has is named', () => {
  const rule = threshold('reward', { below: 0 });
  expect(problemsOf({ ...rule, name: 'a' }, { ...rule, name: 'a' }, { ...rule, name: 'a', tenant: 'acme' })).toEqual({
    '1/name': 'is the name of another rule too',
  });
});
