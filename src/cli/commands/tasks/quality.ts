import { Command, Option } from 'commander';
import { z } from 'zod';
import type { Comparison } from '../../../core/quality/comparison.js';
import { type Measured, TASK_GROUPINGS, type TaskGroup, taskGrouping } from '../../../core/quality/task-groups.js';
import type { PassRate } from '../../../core/tasks/pass-rate.js';
import { connect } from '../../connect.js';
import { json, jsonOption, misuse } from '../../options.js';
import { few, plain, print, printJson, printNote, printTable } from '../../print.js';
import { taskFilters, withTaskFilters } from './task-rates.js';

const text = z.string().optional();
const options = z.object({
  json,
  by: taskGrouping,
  compare: z.array(z.string()).optional(),
  ...taskFilters,
  ...{ batch: text, agent: text, name: text },
});

export const qualityCommand = (): Command =>
  withTaskFilters(
    new Command('quality')
      .addOption(new Option('--by <what>', 'by what tasks are grouped').choices(TASK_GROUPINGS).default('category'))
      .option('--compare <names...>', 'names of two groups: tests whether the second did otherwise')
      .option('--batch <key>', 'only tasks of this batch')
      .option('--agent <agent>', 'only tasks of this agent')
      .option('--name <name>', 'only tasks of this name'),
  )
    .addOption(jsonOption())
    .action(async (raw: unknown) => {
      const { json: asJson, compare, ...asked } = options.parse(raw);
      if (compare !== undefined && compare.length !== 2) throw misuse('--compare takes the names of two groups.');
      const client = connect();
      if (compare === undefined) {
        const groups = await client.groupTasks(asked);
        if (asJson) return printJson(groups);
        printGroups(asked.by, groups.items);
        if (groups.atLeast) printNote('There are more tasks than the newest ones that are grouped here.');
        return;
      }
      const [before = '', after = ''] = compare;
      const drift = await client.compareTaskGroups({ ...asked, before, after });
      if (asJson) return printJson(drift);
      for (const [name, group] of [[before, drift.before] as const, [after, drift.after] as const])
        print(`${plain(name)}: ${group === null ? 'no task' : `${group.ended} tasks that completed or failed`}`);
      printComparisons(drift.measures);
    });

const mean = (measured: Measured): string => few(measured.mean);
const percent = (share: number): string => `${(100 * share).toFixed(1)}%`;
const rateText = (rate: PassRate): string =>
  rate === null ? '' : `${percent(rate.value)} (${percent(rate.low)} to ${percent(rate.high)})`;

const printGroups = (by: string, groups: readonly TaskGroup[]): void =>
  printTable(
    [by.toUpperCase(), 'TASKS', 'ENDED', 'PASSED', 'REWARD', 'QUALITY', 'DIVERSITY', 'TURNS', 'TOKENS', 'MS', 'USD'],
    groups.map(({ name, tasks, ended, passRate, measures }) => [
      ...[name, String(tasks), String(ended), rateText(passRate), mean(measures.reward), mean(measures.quality)],
      ...[mean(measures.diversity), mean(measures.turns), mean(measures.tokens), mean(measures.activeMs)],
      mean(measures.usd),
    ]),
  );

const printComparisons = (measures: readonly Comparison[]): void =>
  printTable(
    ['MEASURE', 'BEFORE', 'AFTER', 'DIFFERENCE', 'P', 'ADJUSTED', 'DRIFTED'],
    measures.map(({ measure, before, after, difference, low, high, p, adjustedP, drifted }) => [
      ...[measure, few(before), few(after), `${few(difference)} (${few(low)} to ${few(high)})`],
      ...[few(p), few(adjustedP), drifted ? 'yes' : 'no'],
    ]),
  );
