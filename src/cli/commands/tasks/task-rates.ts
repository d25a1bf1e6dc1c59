import { Command, Option } from 'commander';
import { z } from 'zod';
import type { PassRates } from '../../../core/quality/pass-rates.js';
import { TASK_GROUPINGS, taskGrouping } from '../../../core/quality/task-groups.js';
import { DIFFICULTIES } from '../../../core/tasks/task-definition.js';
import { connect } from '../../connect.js';
import { json, jsonOption, timeOption } from '../../options.js';
import { printJson, printNote, printTable } from '../../print.js';

const text = z.string().optional();

/** What `withTaskFilters` reads. */
export const taskFilters = { category: text, difficulty: text, dataset: text, from: text, to: text };

/** Adds the options that choose tasks by what they are and when they were submitted. */
export const withTaskFilters = (command: Command): Command =>
  command
    .option('--category <category>', 'only tasks of this category')
    .addOption(new Option('--difficulty <difficulty>', 'only tasks of this difficulty').choices(DIFFICULTIES))
    .option('--dataset <name@version>', 'only tasks of this dataset')
    .addOption(new Option('--from <time>', 'only tasks submitted at this time or later').argParser(timeOption))
    .addOption(new Option('--to <time>', 'only tasks submitted before this time').argParser(timeOption));

const options = z.object({
  json,
  ...taskFilters,
  ...{ agent: text, name: text, k: text },
  by: taskGrouping.optional(),
});

export const taskRatesCommand = (): Command =>
  withTaskFilters(
    new Command('rates')
      .description('Print how often each agent passes tasks, as pass@k.')
      .option('--agent <agent>', 'only attempts of this agent')
      .option('--name <name>', 'only attempts at this task'),
  )
    .addOption(new Option('--by <what>', 'rates each agent within each group').choices(TASK_GROUPINGS))
    .option('--k <numbers>', 'numbers of attempts with commas; without it 1,5,10')
    .addOption(jsonOption())
    .action(async (raw: unknown) => {
      const { json: asJson, ...asked } = options.parse(raw);
      const rates = await connect().getPassRates(asked);
      if (asJson) return printJson(rates);
      printTable(
        [
          'AGENT',
          ...(asked.by === undefined ? [] : [asked.by.toUpperCase()]),
          'TASKS',
          'ATTEMPTS',
          'PASSED',
          ...(rates.items[0]?.passAt ?? []).map(({ k }) => `PASS@${k}`),
        ],
        rates.items.map(({ agent, group, tasks, attempts, passed, passAt }) => [
          ...[agent, ...(group === null ? [] : [group])],
          ...[String(tasks), String(attempts), String(passed), ...passAt.map(rateText)],
        ]),
      );
      if (rates.truncated) printNote('There are more tasks than these rates are of: narrow them down.');
    });

const rateText = ({ value, low, high }: PassRates['items'][number]['passAt'][number]): string =>
  value === null || low === null || high === null
    ? ''
    : `${value.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`;
