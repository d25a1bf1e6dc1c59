import { z } from 'zod';
import { digestOf } from '../json.js';
import { hashOf, keepLeast, likeness, type Sketch } from './sketch.js';
import type { TrajectoryCall, TrajectoryStep } from './trajectory-step.js';

const BEGIN = ['begin'];
const END = ['end'];

/**
 * Takes calls in their order; holds the last two and the sketch: of all runs of 1 to 3 tools that followed each other, and of 1 and 2 calls
 * with their arguments.
 */
export function sketching(): {
  readonly add: (tool: string, argumentsDigest: string) => void;
  readonly sketch: () => Sketch;
} {
  const least: number[] = [];
  let tools: readonly (readonly string[])[] = [BEGIN];
  let calls: readonly (readonly string[])[] = [BEGIN];
  const keep = (into: number[], kind: string, past: readonly (readonly string[])[], shortest: number): void => {
    for (let n = shortest; n <= past.length; n++) keepLeast(into, hashOf([kind, ...past.slice(-n).flat()]));
  };
  return {
    add: (tool, digest) => {
      tools = [...tools, ['tool', tool]].slice(-3);
      calls = [...calls, ['call', tool, digest]].slice(-2);
      keep(least, 'tools', tools, 1);
      keep(least, 'calls', calls, 1);
    },
    sketch: () => {
      const whole = [...least];
      keep(whole, 'tools', [...tools, END].slice(-3), 2);
      return whole;
    },
  };
}

/** Raised when a formula changes: scores of different versions do not compare. */
export const SCORE_VERSION = 1;

/** What a run did, counted over its own steps: what a fork took over was counted in its source. */
export const trajectoryCounts = z
  .object({
    steps: z.int().describe('Without those that a fork took over.'),
    copiedSteps: z.int(),
    unanswered: z.int().describe('Steps without an answer of the model.'),
    calls: z.int(),
    invalid: z.int().describe('Calls whose arguments did not fit the tool.'),
    failed: z.int().describe('Calls that ended with an error.'),
    refused: z.int().describe('Calls that were denied, rejected, expired or stopped by a guardrail.'),
    repeated: z.int().describe('Calls of a tool with arguments that the run had given it before.'),
    retries: z.int().describe('Attempts to get an answer beyond the first of each step.'),
  })
  .meta({ id: 'TrajectoryCounts' });
export type TrajectoryCounts = z.infer<typeof trajectoryCounts>;

/** Goes through the steps of a run in their order; holds a digest of each call, not the steps. */
interface Tally {
  add(step: TrajectoryStep): void;
  counts(): TrajectoryCounts;
  /** Models that answered, the one with the most answers first. */
  models(): readonly string[];
  sketch(): Sketch;
}

const isInvalid = (
  call: TrajectoryCall,
  outcome: TrajectoryStep['observation'][number]['outcome'] | undefined,
): boolean => call.decision === 'invalid' || (outcome?.type === 'refused' && outcome.why === 'invalid_arguments');

export function tally(): Tally {
  const counts: TrajectoryCounts = {
    ...{ steps: 0, copiedSteps: 0, unanswered: 0, calls: 0, invalid: 0 },
    ...{ failed: 0, refused: 0, repeated: 0, retries: 0 },
  };
  const seen = new Set<string>();
  const answers = new Map<string, number>();
  const made: { readonly tool: string; readonly digest: string }[] = [];

  const addCall = (call: TrajectoryCall, step: TrajectoryStep): void => {
    const digest = digestOf([call.tool, call.arguments]).slice(7, 31);
    const isRepeated = seen.has(digest);
    seen.add(digest);
    made.push({ tool: call.tool, digest });
    if (step.copied) return;
    const outcome = step.observation.find(({ callId }) => callId === call.callId)?.outcome;
    counts.calls += 1;
    if (isInvalid(call, outcome)) counts.invalid += 1;
    else if (outcome?.type === 'error') counts.failed += 1;
    else if (outcome?.type === 'refused') counts.refused += 1;
    if (isRepeated) counts.repeated += 1;
  };

  return {
    add: (step) => {
      for (const call of step.action.calls) addCall(call, step);
      if (step.action.type !== 'none') answers.set(step.action.model, (answers.get(step.action.model) ?? 0) + 1);
      if (step.copied) {
        counts.copiedSteps += 1;
        return;
      }
      counts.steps += 1;
      counts.retries += Math.max(0, step.info.attempts - 1);
      if (step.action.type === 'none') counts.unanswered += 1;
    },
    counts: () => ({ ...counts }),
    models: () => [...answers].sort(([, a], [, b]) => b - a).map(([model]) => model),
    sketch: () => {
      const shape = sketching();
      for (const { tool, digest } of made) shape.add(tool, digest);
      return shape.sketch();
    },
  };
}

const WEIGHTS = { invalid: 0.3, failed: 0.25, repeated: 0.2, retries: 0.1, length: 0.15 } as const;

const share = (part: number, whole: number): number => (whole <= 0 ? 0 : Math.min(1, part / whole));
const rounded = (score: number): number => Math.round(score * 1e6) / 1e6;

/**
 * How cleanly a run worked, from 0 to 1; null where it has no steps of its own. 1 less the weighted shares of invalid calls,
 * of failures, of repeated calls, of repeated attempts, and of the turns it might take. Says nothing of what came of it.
 */
export function qualityOf(counts: TrajectoryCounts, maxTurns: number): number | null {
  if (counts.steps === 0) return null;
  const { calls, unanswered } = counts;
  const shares = {
    invalid: share(counts.invalid, calls),
    failed: share(counts.failed + counts.refused + unanswered, calls + unanswered),
    repeated: share(counts.repeated, calls),
    retries: share(counts.retries, counts.steps),
    length: share(counts.steps - 1, maxTurns - 1),
  };
  const lost = Object.entries(WEIGHTS).reduce(
    (sum, [name, weight]) => sum + weight * shares[name as keyof typeof shares],
    0,
  );
  return rounded(Math.max(0, 1 - lost));
}

/** How unlike others a run is, from 0 (all did the same) to 1; 1 where there is no other. */
export function diversityOf(sketch: Sketch, others: readonly Sketch[]): number {
  if (others.length === 0) return 1;
  return rounded(1 - others.reduce((sum, other) => sum + likeness(sketch, other), 0) / others.length);
}
