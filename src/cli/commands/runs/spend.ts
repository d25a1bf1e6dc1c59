import { Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { spendFilter } from '../../../core/budgets/charge.js';
import { connect } from '../../connect.js';
import { cursor, cursorOption, json, jsonOption, limit, limitOption, printMore } from '../../options.js';
import { printJson, printTable } from '../../print.js';

const options = z.object({ ...spendFilter.shape, json, limit, cursor });

const dayOption = (flag: string, description: string): Option =>
  new Option(flag, description).argParser((text) => {
    if (z.iso.date().safeParse(text).success) return text;
    throw new InvalidArgumentError('Expected a day, as 2026-01-31.');
  });

export const spendCommand = (): Command =>
  new Command('spend')
    .addOption(new Option('--by <what>', 'what to sum up by').choices(['day', 'agent', 'model']).default('day'))
    .addOption(dayOption('--from <day>', 'first day, in UTC'))
    .addOption(dayOption('--to <day>', 'last day, in UTC'))
    .option('--agent <name>', 'only runs of this agent')
    .addOption(cursorOption())
    .addOption(limitOption())
    .addOption(jsonOption())
    .action(async (raw: unknown) => {
      const { json: asJson, ...asked } = options.parse(raw);
      const page = await connect().listSpend(asked);
      if (asJson) return printJson(page);
      printTable(
        [asked.by.toUpperCase(), 'USD', 'CHARGES', 'UNPRICED', 'INPUT', 'OUTPUT'],
        page.items.map(({ name, costUsd, charges, unpriced, inputTokens, outputTokens }) => [
          ...[name, costUsd, String(charges), String(unpriced)],
          ...[String(inputTokens), String(outputTokens)],
        ]),
      );
      printMore(page);
    });
