import type { JsonValue } from '../json.js';
import type { Usage } from '../runs/run.js';
import type { TrajectoryStep } from './trajectory-step.js';

/** A step in one line, for programs that read step after step. */
export interface StepLine {
  readonly run: string;
  /** Null: the run is of no task. */
  readonly task: string | null;
  readonly step: number;
  readonly action: {
    readonly type: TrajectoryStep['action']['type'];
    readonly agent: string;
    readonly model: string;
    readonly text: string | null;
    readonly calls: readonly {
      readonly tool: string;
      readonly arguments: JsonValue;
      /** Null: the call has no outcome yet. */
      readonly outcome: 'output' | 'error' | 'refused' | null;
    }[];
  };
  readonly reward: number | null;
  readonly rewardSoFar: number | null;
  readonly durationMs: number;
  readonly tokens: Usage;
  readonly done: boolean;
}

export function stepLine(run: string, task: string | null, one: TrajectoryStep): StepLine {
  const { type, agent, model, text, calls } = one.action;
  return {
    ...{ run, task, step: one.step },
    action: {
      ...{ type, agent, model, text },
      calls: calls.map(({ callId, tool, arguments: args }) => ({
        ...{ tool, arguments: args },
        outcome: one.observation.find((seen) => seen.callId === callId)?.outcome.type ?? null,
      })),
    },
    ...{ reward: one.reward, rewardSoFar: one.rewardSoFar ?? null },
    durationMs: Date.parse(one.info.endedAt) - Date.parse(one.info.startedAt),
    ...{ tokens: one.info.usage, done: one.done },
  };
}
