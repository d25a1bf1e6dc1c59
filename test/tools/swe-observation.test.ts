import { expect, it } from 'vitest';
import type { CallOutcome } from '../../src/core/log/call-outcome.js';
import { exitCodeAfter } from '../../src/core/trajectories/trajectory-step.js';
import { observed } from '../../src/tools/swe/swe-scaffold.js';

const SEEN = { workdir: '/work', names: [] };
const call = (tool: string, outcome: CallOutcome & { readonly type: 'output' }) => ({
  ...{ callId: 'c', tool, arguments: {} },
  outcome,
});

it('a command that became a text says its exit code to the trajectory', () => {
  const { observation, ...step } = observed(
    call('bash', { type: 'output', output: { exitCode: 3, stdout: 'x', stderr: '' } }),
  );
  expect(observation).toBe('It ended with exit code 3.\nx');
  expect(exitCodeAfter(0, SEEN, { type: 'output', output: observation }, step)).toBe(3);
});

it('what is no command leaves the exit code as it was', () => {
  const { observation, ...step } = observed(call('submit', { type: 'output', output: 'done' }));
  expect(step).toMatchObject({ done: true, info: {} });
  expect(exitCodeAfter(3, SEEN, { type: 'output', output: observation }, step)).toBe(3);
});
