import { Command, Option } from 'commander';
import { z } from 'zod';
import { INTERRUPTION_KINDS } from '../../../core/interruptions/interruption.js';
import { connect } from '../../connect.js';
import { cursor, cursorOption, json, jsonOption, limit, limitOption, printMore, timeOption } from '../../options.js';
import { print, printJson } from '../../print.js';
import { printInterruption } from '../../run-text.js';

const text = z.string().optional();
const options = z.object({ json, limit, cursor, run: text, agent: text, tool: text, kind: text, expiresBefore: text });

export const inboxCommand = (): Command =>
  new Command('inbox')
    .description('List what waits for a decision.')
    .option('--run <run>', 'only of this run')
    .option('--agent <name>', 'only of this agent')
    .option('--tool <name>', 'only of this tool')
    .addOption(new Option('--kind <kind>', 'only of this kind, such as `approval`').choices(INTERRUPTION_KINDS))
    .addOption(new Option('--expires-before <time>', 'only what expires before a time').argParser(timeOption))
    .addOption(cursorOption())
    .addOption(limitOption())
    .addOption(jsonOption())
    .action(async (raw: unknown) => {
      const { json: asJson, ...filter } = options.parse(raw);
      const page = await connect().listInterruptions({ ...filter, status: 'pending' });
      if (asJson) return printJson(page);
      if (page.items.length === 0) print('Nothing waits for a decision.');
      for (const one of page.items) printInterruption(one);
      printMore(page.nextCursor);
    });
