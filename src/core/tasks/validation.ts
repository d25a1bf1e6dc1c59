import { type TaskDefinition, taskHashOf } from './task-definition.js';

/** What attempts without a model say of a task. */

export interface ValidationAttempt {
  /** By its reference solution; otherwise by doing nothing. */
  readonly solved: boolean;
  /** Null: it was not verified. */
  readonly reward: number | null;
  readonly passed: boolean;
  readonly tests: readonly { readonly name: string; readonly share: number }[];
  /** Why it was not verified; null: it was. */
  readonly error: string | null;
}

export const VALIDATION_VERDICTS = ['right', 'wrong', 'flaky', 'error'] as const;

export interface ValidatedTask {
  readonly name: string;
  readonly version: string;
  readonly digest: string;
  /** `wrong`: it refuses its solution or rewards nothing; `flaky`: equal attempts ended otherwise; `error`: one was not verified. */
  readonly verdict: (typeof VALIDATION_VERDICTS)[number];
  readonly problems: readonly string[];
  readonly solved: Tally;
  readonly idle: Tally;
}

interface Tally {
  readonly attempts: number;
  readonly passed: number;
  readonly rewards: readonly (number | null)[];
}

/** Judges the attempts at a task. */
export function validatedTask(task: TaskDefinition, attempts: readonly ValidationAttempt[]): ValidatedTask {
  const [solved, idle] = [attempts.filter((one) => one.solved), attempts.filter((one) => !one.solved)];
  const errors = [...new Set(attempts.flatMap(({ error }) => error ?? []))];
  const flaky = [...flakyOf('solution', solved), ...flakyOf('no-op', idle)];
  const wrong = [...refusals(solved), ...gifts(idle)];
  const verdict = errors.length > 0 ? 'error' : flaky.length > 0 ? 'flaky' : wrong.length > 0 ? 'wrong' : 'right';
  const { name, version, solution } = task;
  return {
    ...{ name, version, digest: taskHashOf(task), verdict },
    problems: [...errors, ...flaky, ...wrong, ...(solution === null ? ['it has no reference solution to try'] : [])],
    ...{ solved: tallyOf(solved), idle: tallyOf(idle) },
  };
}

const tallyOf = (attempts: readonly ValidationAttempt[]): Tally => ({
  attempts: attempts.length,
  passed: attempts.filter(({ passed }) => passed).length,
  rewards: attempts.map(({ reward }) => reward),
});

const verified = (attempts: readonly ValidationAttempt[]) => attempts.filter(({ error }) => error === null);

function refusals(solved: readonly ValidationAttempt[]): readonly string[] {
  const refused = verified(solved).filter(({ passed }) => !passed);
  if (refused.length === 0) return [];
  const tests = new Set(refused.flatMap(({ tests }) => tests.flatMap(({ name, share }) => (share < 1 ? [name] : []))));
  const which = tests.size === 0 ? 'something else than its tests' : [...tests].join(', ');
  return [`it refuses its own solution in ${refused.length} of ${solved.length} attempts: ${which}`];
}

function gifts(idle: readonly ValidationAttempt[]): readonly string[] {
  const given = verified(idle).filter(({ reward, passed }) => passed || (reward ?? 0) > 0);
  const most = Math.max(0, ...given.map(({ reward }) => reward ?? 0));
  return given.length === 0
    ? []
    : [`it gives a reward of ${most} for nothing in ${given.length} of ${idle.length} attempts`];
}

/** Tests whose share differed between equal attempts. */
function flakyOf(of: string, attempts: readonly ValidationAttempt[]): readonly string[] {
  const shares = new Map<string, Set<number>>();
  for (const { tests } of verified(attempts))
    for (const { name, share } of tests) shares.set(name, (shares.get(name) ?? new Set()).add(share));
  const differ = [...shares].flatMap(([name, values]) => (values.size > 1 ? [name] : []));
  return differ.length === 0 ? [] : [`equal attempts of the ${of} ended otherwise: ${differ.join(', ')}`];
}
