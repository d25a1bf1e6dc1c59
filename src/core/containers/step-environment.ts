import { z } from 'zod';
import type { StepNote } from '../agents/scaffold-step.js';
import type { CallOutcome } from '../log/call-outcome.js';
import type { TrajectoryStep } from '../trajectories/trajectory-step.js';

/** What of a run's environment its trajectory shows: never what its variables hold. */
export interface SeenEnvironment {
  readonly workdir: string;
  readonly names: readonly string[];
}

type Shown = Pick<TrajectoryStep['state'], 'workingDirectory' | 'environmentNames' | 'exitCode' | 'custom'>;

/** The environment before a step. `exitCode`: of the last command. */
export const shownEnvironment = (seen: SeenEnvironment | null, exitCode: number | null): Shown => ({
  ...{ workingDirectory: seen?.workdir ?? null, environmentNames: [...(seen?.names ?? [])] },
  ...{ exitCode, custom: null },
});

const command = z.looseObject({ exitCode: z.int() });

/**
 * Returns the exit code of the last command after one more call has ended. A scaffold that makes a text of the result says the
 * code in the `info` of its step. Calls without a code change nothing.
 */
export function exitCodeAfter(
  before: number | null,
  seen: SeenEnvironment | null,
  outcome: CallOutcome,
  step: StepNote | null | undefined,
): number | null {
  if (seen === null || outcome.type !== 'output') return before;
  const { data } = command.safeParse(outcome.output);
  return (data ?? command.safeParse(step?.info).data)?.exitCode ?? before;
}
