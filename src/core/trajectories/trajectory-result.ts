import { z } from 'zod';
import { nameText } from '../json.js';
import { isOver, type RunStatus, runStatus } from '../runs/run.js';

const reward = z.number().nullable();

/** What became of a run, as data to learn from. Null stands for it while the run goes on. */
export const TRAJECTORY_RESULTS = ['success', 'partial_success', 'failure', 'timeout', 'error'] as const;
export const resultType = z.enum(TRAJECTORY_RESULTS);

export const trajectoryResult = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('success'), reward: reward.describe('Null: no one gave one.') }),
    z.object({
      type: z.literal('partial_success'),
      reward,
      missing: z
        .array(z.string())
        .describe('Signals below 1 by their names, and `completion` if the run did not complete.'),
    }),
    z.object({ type: z.literal('failure'), reason: z.string() }),
    z.object({ type: z.literal('timeout'), reason: z.string() }),
    z.object({ type: z.literal('error'), code: z.string(), reason: z.string() }),
  ])
  .meta({ id: 'TrajectoryResult' });
export type TrajectoryResult = z.infer<typeof trajectoryResult>;

/** How the run ended. */
export interface RunEnd {
  readonly status: RunStatus;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly cancelReason: string | null;
}

/** What someone said of it afterwards. */
export interface Judgement {
  readonly reward: number;
  readonly signals: { readonly [name: string]: number };
  readonly verificationPassed: boolean | null;
  readonly reason: string | null;
}

const TIMEOUTS: ReadonlySet<string> = new Set(['limit_wall_time', 'limit_elapsed', 'tool_timeout']);
/** The agent did not do its job within what it was given, or did what it may not: nothing around it was broken. */
const FAILURES: ReadonlySet<string> = new Set([
  ...['limit_turns', 'limit_tokens', 'limit_budget', 'capability_denied', 'output_invalid'],
  ...['guardrail_tripped', 'guardrail_rejected', 'sub_agent_failed'],
]);

/** What the agent broke of its own container. The reason of such a failure begins with it. */
export const BROKEN = 'agent_broke_environment';

const shortOf = ({ signals }: Judgement): string[] =>
  Object.entries(signals)
    .flatMap(([name, value]) => (value < 1 ? [name] : []))
    .sort();

/**
 * The result of a run: see docs/data/trajectories.md. A run that did not complete never is a success, whatever its reward; one that
 * completed is a success until someone says otherwise.
 */
export function resultOf(end: RunEnd, judged: Judgement | null): TrajectoryResult | null {
  if (!isOver(end.status)) return null;
  if (end.status !== 'completed') {
    if (judged === null || judged.reward <= 0) return unfinished(end);
    return { type: 'partial_success', reward: judged.reward, missing: ['completion', ...shortOf(judged)] };
  }
  if (judged === null) return { type: 'success', reward: null };
  const { reward, verificationPassed } = judged;
  if (verificationPassed ?? reward >= 1) return { type: 'success', reward };
  if (reward > 0) return { type: 'partial_success', reward, missing: shortOf(judged) };
  const why = verificationPassed === false ? 'The verification did not pass.' : `The reward is ${reward}.`;
  return { type: 'failure', reason: judged.reason ?? why };
}

function unfinished({ status, error, cancelReason }: RunEnd): TrajectoryResult {
  if (status === 'cancelled' || error === null)
    return { type: 'failure', reason: cancelReason ?? 'The run was cancelled.' };
  if (TIMEOUTS.has(error.code)) return { type: 'timeout', reason: error.message };
  if (error.code === BROKEN) return { type: 'failure', reason: `${BROKEN}: ${error.message}` };
  if (FAILURES.has(error.code)) return { type: 'failure', reason: error.message };
  return { type: 'error', code: error.code, reason: error.message };
}

const time = z.iso.datetime({ offset: true }).refine((at) => !at.startsWith('0000'), 'expected a year after 0');

const bound = z.number().exactOptional();

/** What narrows a list by reward and scores. */
export const scoreBounds = {
  ...{ minReward: bound, maxReward: bound, minQuality: bound, maxQuality: bound },
  ...{ minDiversity: bound, maxDiversity: bound },
};

/** What narrows a list of trajectories; all of it must fit. */
export const trajectoryFilter = z.strictObject({
  result: resultType.exactOptional(),
  status: runStatus.exactOptional(),
  agent: nameText.exactOptional().describe('The agent that it was started of.'),
  model: nameText.exactOptional().describe('One that gave an answer.'),
  task: nameText.exactOptional().describe('`metadata.taskId` of the run.'),
  tag: nameText.exactOptional().describe('One of `metadata.tags` of the run.'),
  ...scoreBounds,
  from: time.exactOptional().describe('Only runs that were started at this time or later.'),
  to: time.exactOptional().describe('Only runs that were started before this time.'),
});
export type TrajectoryFilter = z.infer<typeof trajectoryFilter>;

/** Whether a filter asks for what only the log of a run that is over says. */
export const asksForEnded = (filter: TrajectoryFilter): boolean =>
  [
    ...[filter.result, filter.model, filter.task, filter.tag, filter.minReward, filter.maxReward],
    ...[filter.minQuality, filter.maxQuality, filter.minDiversity, filter.maxDiversity],
  ].some((asked) => asked !== undefined);
