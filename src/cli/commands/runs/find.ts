import { Command } from 'commander';
import { z } from 'zod';
import { connect } from '../../connect.js';
import { cursor, cursorOption, idArgument, json, jsonOption, printMore } from '../../options.js';
import { printJson, printTable } from '../../print.js';

const options = z.object({ json, cursor });

export const findCommand = (): Command =>
  new Command('find')
    .argument('<run>', 'id of a run', idArgument)
    .argument('<text>', 'text to find; letters are alike in case')
    .addOption(cursorOption())
    .addOption(jsonOption())
    .action(async (run: string, q: string, raw: unknown) => {
      const { json: asJson, ...of } = options.parse(raw);
      const page = await connect().findInLog(run, { q, ...of });
      if (asJson) return printJson(page);
      printTable(
        ['#', 'PLACE', 'TEXT'],
        page.items.map(({ seq, pointer, before, match, after }) => [String(seq), pointer, `${before}${match}${after}`]),
      );
      printMore(page);
    });
