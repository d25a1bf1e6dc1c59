import type { AgentEnvironment } from '../containers/environment.js';
import type { JsonObject } from '../json.js';
import type { ResolvedTask } from './resolve-task.js';
import type { SignalWeights } from './task-reward.js';

/** The task that a run executes, as the run has it. */
export interface RunTask {
  readonly id: string;
  readonly definitionHash: string;
  readonly resolved: ResolvedTask;
  /** Where the agent works, and what is made anew for the tests. */
  readonly environment: AgentEnvironment;
  readonly parameters: JsonObject;
  readonly weights: SignalWeights;
  /** Of the configuration; null: the weighted signals. */
  readonly rewardFunction: string | null;
}
