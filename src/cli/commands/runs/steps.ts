import { Command } from 'commander';
import { z } from 'zod';
import type { JsonValue } from '../../../core/json.js';
import { labelsOf, type Usage } from '../../../core/runs/run.js';
import { stepFold } from '../../../core/trajectories/step-fold.js';
import type { TrajectoryStep } from '../../../core/trajectories/trajectory-step.js';
import { connect } from '../../connect.js';
import { followRun } from '../../follow-run.js';
import { idArgument } from '../../options.js';
import { jsonText, print } from '../../print.js';
import { retryFor, retryOption, ServerReturn } from '../../server-return.js';
import { recordedEvents } from './events.js';

const options = z.object({ retryFor, follow: z.boolean().default(false) });

export const stepsCommand = (): Command =>
  new Command('steps')
    .argument('<run>', 'id of a run', idArgument)
    .option('--follow', 'goes on with the steps that come until the run is over')
    .addOption(retryOption())
    .action(async (id: string, raw: unknown) => {
      const asked = options.parse(raw);
      const client = connect();
      const { taskId } = labelsOf((await client.getRun(id)).metadata);
      const fold = stepFold(() => [], null);
      const show = (steps: ReturnType<typeof fold.push>): void => {
        for (const step of steps) print(jsonText(stepLine(id, taskId, step)));
      };
      const events = asked.follow
        ? followRun(client.streamEvents, id, new ServerReturn(asked.retryFor))
        : recordedEvents(client, id);
      for await (const event of events) if ('seq' in event) show(fold.push(event));
      const { totalReward, result } = await client.getTrajectory(id, { limit: 1 });
      show(fold.finish({ over: result !== null, reward: totalReward }));
    });

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
