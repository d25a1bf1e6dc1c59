import { Command } from 'commander';
import { z } from 'zod';
import { connect } from '../../connect.js';
import { idArgument, json, jsonOption } from '../../options.js';
import { print, printJson, printTable } from '../../print.js';

const options = z.object({ json, cursor: z.string().optional() });

export const findCommand = (): Command =>
  new Command('find')
    .description('Find a text in the payloads of the log of a run.')
    .argument('<run>', 'id of a run', idArgument)
    .argument('<text>', 'text to find; letters are alike in case')
    .option('--cursor <cursor>', 'where the page before ended')
    .addOption(jsonOption())
    .action(async (run: string, q: string, raw: unknown) => {
      const { json: asJson, cursor } = options.parse(raw);
      const page = await connect().findInLog(run, { q, cursor });
      if (asJson) return printJson(page);
      printTable(
        ['#', 'PLACE', 'TEXT'],
        page.items.map(({ seq, pointer, before, match, after }) => [String(seq), pointer, `${before}${match}${after}`]),
      );
      if (page.nextCursor !== null) print(`There are more; go on with --cursor ${page.nextCursor}.`);
    });
