import { Command } from 'commander';
import { z } from 'zod';
import { labelsOf } from '../../../core/runs/run.js';
import { stepFold } from '../../../core/trajectories/step-fold.js';
import { stepLine } from '../../../core/trajectories/step-line.js';
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
