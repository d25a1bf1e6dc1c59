import type { JsonObject, JsonValue } from '../json.js';
import type { ToolEnvironment } from '../tools/tool-environment.js';
import type { Evidence, GivenReward, Verdict } from './task-reward.js';

/** What a reward function knows of the run that it judges. */
export interface RewardFacts {
  readonly task: {
    readonly name: string;
    readonly version: string;
    readonly parameters: JsonObject;
    readonly seed: number;
    readonly metadata: JsonObject;
  };
  readonly runId: string;
  /** What the agent said in the end; null: a limit ended it. */
  readonly output: JsonValue;
  readonly evidence: Evidence;
  /** What the weighted signals give. */
  readonly verdict: Verdict;
  /** Where the tests ran. A command runs once, also when the function is executed again after a crash. */
  readonly environment: ToolEnvironment;
  readonly signal: AbortSignal;
}

/**
 * Gives the reward of a run in place of the weighted signals. Whether it is verified stays with the tests. It is executed again after a
 * crash until its outcome is kept. What it throws makes the result of the task an error.
 */
export type RewardFunction = (facts: RewardFacts) => GivenReward | Promise<GivenReward>;
