import { expect, it } from 'vitest';
import { stepFor } from '../../src/containers/lifecycle/open-container.js';

/** What becomes of a container that is found, in every state that an engine knows. */

it('leads to one that runs, and starts nothing again that cannot start', () => {
  const step = (Status: string, ExitCode = 0, why = '') => stepFor({ Status, ExitCode, Error: why });
  expect(step('running')).toBe('run');
  expect(step('created')).toBe('start');
  expect(step('created', 127, 'no such program')).toBe('fail');
  expect(step('exited')).toBe('start');
  expect(step('exited', 255)).toBe('start');
  expect(step('exited', 128, 'no space left')).toBe('fail');
  const held = 'task 30c36a52: already exists: unknown';
  for (const why of [held, 'id already in use'])
    expect([step('exited', 128, why), step('created', 128, why)]).toEqual(['remake', 'remake']);
  expect(step('paused')).toBe('unpause');
  expect(step('dead')).toBe('fail');
  expect(step('restarting')).toBe('wait');
  expect(step('removing')).toBe('wait');
  // Podman's own.
  expect([step('initialized'), step('stopped'), step('stopping')]).toEqual(['start', 'start', 'wait']);
});
