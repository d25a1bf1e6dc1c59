import { z } from 'zod';
import { HoldfastError } from '../errors/errors.js';
import { integrity } from '../integrity.js';
import { jsonValue } from '../json.js';
import { usdText } from '../money.js';
import { errorView, labelsOf, type RunView, runStatus, usage } from '../runs/run.js';
import { type RewardView, rewardView } from '../tasks/reward.js';
import { type ChargesOfTurn, type LoggedEvent, stepFold } from './step-fold.js';
import { resultOf, trajectoryResult } from './trajectory-result.js';
import { qualityOf, SCORE_VERSION, tally, trajectoryCounts } from './trajectory-score.js';
import { type SeenEnvironment, type TrajectoryStep, trajectoryStep } from './trajectory-step.js';

/** What is known of a run without its log. */
const trajectoryRun = z.object({
  trajectoryId: z.string().describe('The id of its run.'),
  runId: z.string(),
  taskId: z.string().nullable().describe('`metadata.taskId` of the run; null: none.'),
  tags: z.array(z.string()).describe('`metadata.tags` of the run.'),
  seed: z.int().nullable().describe('`metadata.seed` of the run; null: none was given.'),
  parentRunId: z.string().nullable().describe('The run whose call started it: the id of its trajectory.'),
  forkedFrom: z.object({ runId: z.string(), seq: z.int() }).nullable(),
  timestamp: z.iso.datetime().describe('When the run was started.'),
  completedAt: z.iso.datetime().nullable(),
  scaffold: z.string().describe('What stood between model and tools: the scaffold of the agent; `holdfast`: none.'),
  agent: z.string(),
  agentVersion: z.string(),
  status: runStatus,
  error: errorView.nullable(),
  result: trajectoryResult.nullable().describe('Null while the run goes on.'),
  totalReward: z.number().nullable().describe('Null: no one gave one.'),
  verificationPassed: z.boolean().nullable().describe('Null: no one verified.'),
  usage: usage.describe('With that of the runs that its calls started.'),
  costUsd: usdText.nullable().describe('The same; null: a price is not known.'),
  executionTimeMs: z.int().describe('Milliseconds in which it was neither queued nor paused.'),
});
type TrajectoryRun = z.infer<typeof trajectoryRun>;

/** What its log says of it as a whole. */
const trajectoryWhole = z.object({
  model: z.string().nullable().describe('The one that gave the most answers; null: none did.'),
  models: z.array(z.string()).describe('All that gave answers, that with the most first.'),
  totalSteps: z.int(),
  counts: trajectoryCounts,
  qualityScore: z.number().min(0).max(1).nullable().describe('Null: it has no steps of its own.'),
  diversityScore: z.number().min(0).max(1).nullable().describe('Null until the run is over and was compared.'),
  scoreVersion: z.int(),
});

const notRead = 'Null: the run goes on, or is over since a moment.';
/** A trajectory in a list. */
export const trajectorySummary = trajectoryRun
  .extend({
    model: trajectoryWhole.shape.model,
    models: trajectoryWhole.shape.models,
    totalSteps: z.int().nullable().describe(notRead),
    counts: trajectoryCounts.nullable().describe(notRead),
    qualityScore: trajectoryWhole.shape.qualityScore,
    diversityScore: trajectoryWhole.shape.diversityScore,
    scoreVersion: z.int().nullable().describe(notRead),
    integrity,
  })
  .meta({ id: 'TrajectorySummary' });
export type TrajectorySummary = z.infer<typeof trajectorySummary>;

export const trajectory = trajectoryRun
  .extend(trajectoryWhole.shape)
  .extend({
    input: jsonValue,
    output: jsonValue,
    reward: rewardView.nullable().describe('The version that counts.'),
    steps: z.array(trajectoryStep),
    nextStep: z
      .int()
      .nullable()
      .describe('The last step that is here, if more follow: `after` of the next page. Totals are of all.'),
    head: z.object({ seq: z.int(), hash: z.string() }),
  })
  .meta({ id: 'Trajectory' });
export type Trajectory = z.infer<typeof trajectory>;

/** A trajectory as someone reads it, with what of its run is not what the log says. Rows of exports have none: such runs are in none. */
export const shownTrajectory = trajectory.extend({ integrity }).meta({ id: 'ShownTrajectory' });
export type ShownTrajectory = z.infer<typeof shownTrajectory>;

/** A run in a stream of trajectories whose log or row cannot be read: the others follow. */
export interface UnreadTrajectory {
  readonly runId: string;
  readonly unread: { readonly code: string; readonly message: string; readonly hint: string };
}

/** What of a run only its row says. */
export interface RunFacts {
  readonly run: Omit<RunView, 'tenant' | 'sessionId' | 'interruptions' | 'segment' | 'turns' | 'updatedAt'>;
  readonly executionTimeMs: number;
  /** Name of the scaffold; null: its agent had none. */
  readonly scaffold: string | null;
  readonly cancelReason: string | null;
  readonly reward: RewardView | null;
}

export function trajectoryRunOf({ run, executionTimeMs, scaffold, cancelReason, reward }: RunFacts): TrajectoryRun {
  const { id, parentRunId, forkedFrom, agent, agentVersion, status, error, usage, costUsd } = run;
  return {
    ...{ trajectoryId: id, runId: id, ...labelsOf(run.metadata), parentRunId, forkedFrom },
    ...{
      timestamp: run.createdAt,
      completedAt: run.completedAt,
      scaffold: scaffold ?? 'holdfast',
      agent,
      agentVersion,
      status,
      error,
    },
    result: resultOf({ status, error, cancelReason }, reward),
    totalReward: reward?.reward ?? null,
    verificationPassed: reward?.verificationPassed ?? null,
    ...{ usage, costUsd, executionTimeMs },
  };
}

/** Which steps of a trajectory are wanted: those after a step, until one of the bounds is reached. */
export interface StepWindow {
  readonly after: number;
  readonly limit: number;
  /** Characters of their JSON; a single step may have more. */
  readonly maxChars: number;
}

/** What a reader is given at once. */
export const STEPS_LIMIT = 1000;
export const STEPS_MAX_CHARS = 32 * 1024 * 1024;

/** Only what the whole run was. */
export const NO_STEPS: StepWindow = { after: 0, limit: 0, maxChars: 0 };
const ALL_STEPS: StepWindow = { after: 0, limit: Number.POSITIVE_INFINITY, maxChars: Number.POSITIVE_INFINITY };

interface FoldOptions {
  readonly chargesOf?: ChargesOfTurn;
  readonly diversityScore?: number | null;
  readonly window?: StepWindow;
  /** Null: the run has none. */
  readonly environment?: SeenEnvironment | null;
}

/** A trajectory that is made as its log is read: holds the steps that are wanted, and of the others only counts. */
export function trajectoryFold(facts: RunFacts, options: FoldOptions = {}) {
  const { chargesOf = () => [], diversityScore = null, window = ALL_STEPS, environment = null } = options;
  const fold = stepFold(chargesOf, environment);
  const counted = tally();
  const steps: TrajectoryStep[] = [];
  let total = 0;
  let chars = 0;
  let isFull = false;
  let head = { seq: 0, hash: '' };

  const take = (step: TrajectoryStep): void => {
    total += 1;
    counted.add(step);
    if (isFull || step.step <= window.after) return;
    chars += window.maxChars === Number.POSITIVE_INFINITY ? 0 : JSON.stringify(step).length;
    isFull = steps.length >= window.limit || (steps.length > 0 && chars > window.maxChars);
    if (!isFull) steps.push(step);
  };

  return {
    /** Throws `log_broken` for an event that no build has written like this. */
    push: (event: LoggedEvent): void => {
      head = { seq: event.seq, hash: event.hash };
      try {
        fold.push(event).forEach(take);
      } catch (cause) {
        const what = `Event ${event.seq} of run ${facts.run.id} is broken: its payload is none of the kind ${event.kind}.`;
        throw new HoldfastError('log_broken', what, { cause });
      }
    },
    end: () => {
      const run = trajectoryRunOf(facts);
      fold.finish({ over: run.result !== null, reward: run.totalReward }).forEach(take);
      const counts = counted.counts();
      const models = [...counted.models()];
      const record: Trajectory = {
        ...run,
        ...{ model: models[0] ?? null, models, totalSteps: total, counts },
        qualityScore: qualityOf(counts, facts.run.limits.maxTurns),
        ...{ diversityScore, scoreVersion: SCORE_VERSION, input: facts.run.input, output: facts.run.output },
        ...{ reward: facts.reward, steps, nextStep: isFull ? (steps.at(-1)?.step ?? null) : null, head },
      };
      return { record, sketch: counted.sketch };
    },
  };
}

/** Folds a log into a trajectory, an event at a time. Pure; works for runs that still go on. */
export function* foldTrajectory(
  facts: RunFacts,
  events: Iterable<LoggedEvent>,
  options: FoldOptions = {},
): Generator<void, Trajectory> {
  const fold = trajectoryFold(facts, options);
  for (const event of events) {
    fold.push(event);
    yield;
  }
  return fold.end().record;
}
