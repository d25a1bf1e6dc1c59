import { z } from 'zod';
import { nameText } from '../json.js';
import { runStatus } from '../runs/run.js';
import { resultType } from './trajectory-result.js';

const time = z.iso.datetime({ offset: true }).refine((at) => !at.startsWith('0000'), 'expected a year after 0');

/** What narrows a list of trajectories; all of it must fit. */
export const trajectoryFilter = z.strictObject({
  result: resultType.exactOptional(),
  status: runStatus.exactOptional(),
  agent: nameText.exactOptional().describe('The agent that it was started of.'),
  model: nameText.exactOptional().describe('One that gave an answer.'),
  task: nameText.exactOptional().describe('`metadata.taskId` of the run.'),
  tag: nameText.exactOptional().describe('One of `metadata.tags` of the run.'),
  minReward: z.number().exactOptional(),
  maxReward: z.number().exactOptional(),
  from: time.exactOptional().describe('Only runs that were started at this time or later.'),
  to: time.exactOptional().describe('Only runs that were started before this time.'),
});
export type TrajectoryFilter = z.infer<typeof trajectoryFilter>;

/** Whether a filter asks for what only the log of a run that is over says. */
export const asksForEnded = ({ result, model, task, tag, minReward, maxReward }: TrajectoryFilter): boolean =>
  [result, model, task, tag, minReward, maxReward].some((asked) => asked !== undefined);
