import { Command, Option } from 'commander';
import { z } from 'zod';
import { connect } from '../../connect.js';
import { json, jsonOption, timeOption } from '../../options.js';
import { print, printJson, printTable } from '../../print.js';

const options = z.object({ json });
const ranged = z.object({ json, from: z.string().optional(), to: z.string().optional() });

const limitText = (limit: number | null): string => (limit === null ? '' : String(limit));

export const queueCommand = (): Command =>
  new Command('queue').addOption(jsonOption()).action(async (raw: unknown) => {
    const queue = await connect().getQueue();
    if (options.parse(raw).json) return printJson(queue);
    const more = queue.atLeast ? '+' : '';
    printTable(
      ['AGENT', 'QUEUED', 'RUNNING', 'AT ONCE', 'OLDEST'],
      [
        [
          '(all)',
          `${queue.queued}${more}`,
          `${queue.running}${more}`,
          limitText(queue.tenantAtOnce),
          queue.oldestAt ?? '',
        ],
        ...queue.byAgent.map((one) => [
          ...[one.name, String(one.queued), String(one.running), limitText(one.atOnce), one.oldestAt ?? ''],
        ]),
      ],
    );
  });

export const errorsCommand = (): Command =>
  new Command('errors')
    .addOption(new Option('--from <time>', 'only runs that ended at this time or later').argParser(timeOption))
    .addOption(new Option('--to <time>', 'only runs that ended before this time').argParser(timeOption))
    .addOption(jsonOption())
    .action(async (raw: unknown) => {
      const { json: asJson, ...range } = ranged.parse(raw);
      const errors = await connect().listErrors(range);
      if (asJson) return printJson(errors);
      printTable(
        ['CODE', 'RUNS', 'LAST', 'NEWEST RUN', 'MESSAGE'],
        errors.items.map((one) => [one.code, String(one.count), one.lastAt, one.runId, one.message]),
      );
      if (errors.atLeast) print('There are more than 10,000; the newest were counted.');
    });

export const budgetsCommand = (): Command =>
  new Command('budgets').addOption(jsonOption()).action(async (raw: unknown) => {
    const { items } = await connect().listBudgets();
    if (options.parse(raw).json) return printJson({ items });
    printTable(
      ['BUDGET', 'OF', 'NAME', 'DAY', 'SPENT', 'LIMIT'],
      items.map((one) => [one.budget, one.scope, one.name, one.day ?? '', one.spentUsd, one.limitUsd]),
    );
  });
