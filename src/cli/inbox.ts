import { Command } from 'commander';
import { z } from 'zod';
import { connect } from './connect.js';
import { json, jsonOption, limit, limitOption } from './options.js';
import { print, printJson } from './print.js';
import { printInterruption } from './run-text.js';

const options = z.object({ json, limit, run: z.string().optional() });

export const inboxCommand = (): Command =>
  new Command('inbox')
    .description('List what waits for a decision.')
    .option('--run <run>', 'only of this run')
    .addOption(limitOption())
    .addOption(jsonOption())
    .action(async (raw: unknown) => {
      const { json: asJson, ...filter } = options.parse(raw);
      const page = await connect().listInterruptions({ ...filter, status: 'pending' });
      if (asJson) return printJson(page);
      if (page.items.length === 0) print('Nothing waits for a decision.');
      for (const one of page.items) printInterruption(one);
      if (page.nextCursor !== null) print('There are more; raise --limit or narrow by --run.');
    });
