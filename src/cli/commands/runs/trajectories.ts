import { Command, Option } from 'commander';
import { z } from 'zod';
import { RUN_STATUSES } from '../../../core/runs/run.js';
import { TRAJECTORY_RESULTS, trajectoryFilter } from '../../../core/trajectories/trajectory-result.js';
import { connect } from '../../connect.js';
import {
  cursor,
  cursorOption,
  json,
  jsonOption,
  limit,
  limitOption,
  printMore,
  timeOption,
  withScoreBounds,
} from '../../options.js';
import { printJson, printTable } from '../../print.js';

const options = z.object({ ...trajectoryFilter.shape, json, limit, cursor });

export const trajectoriesCommand = (): Command =>
  withScoreBounds(
    new Command('trajectories')
      .addOption(new Option('--result <result>', 'only those of this result').choices(TRAJECTORY_RESULTS))
      .addOption(new Option('--status <status>', 'only runs of this status').choices(RUN_STATUSES))
      .option('--agent <agent>', 'only runs of this agent')
      .option('--model <model>', 'only runs in which this model gave an answer')
      .option('--task <id>', 'only runs of this task')
      .option('--tag <tag>', 'only runs with this tag'),
  )
    .addOption(new Option('--from <time>', 'only runs that were started at this time or later').argParser(timeOption))
    .addOption(new Option('--to <time>', 'only runs that were started before this time').argParser(timeOption))
    .addOption(cursorOption())
    .addOption(limitOption())
    .addOption(jsonOption())
    .action(async (raw: unknown) => {
      const { json: asJson, ...asked } = options.parse(raw);
      const page = await connect().listTrajectories(asked);
      if (asJson) return printJson(page);
      printTable(
        ['RUN', 'RESULT', 'REWARD', 'STEPS', 'QUALITY', 'DIVERSITY', 'AGENT', 'MODEL', 'STARTED'],
        page.items.map((one) => [
          ...[one.runId, one.result?.type ?? one.status, score(one.totalReward), score(one.totalSteps)],
          ...[score(one.qualityScore), score(one.diversityScore), one.agent, one.model ?? '', one.timestamp],
        ]),
      );
      printMore(page);
    });

const score = (value: number | null): string => (value === null ? '' : String(Math.round(value * 100) / 100));
