import { Command } from 'commander';
import { z } from 'zod';
import { connect } from '../../connect.js';
import {
  cursor,
  cursorOption,
  idArgument,
  json,
  jsonOption,
  limit,
  limitOption,
  misuse,
  printMore,
} from '../../options.js';
import { printJson, printTable } from '../../print.js';
import { printExport } from './export-progress.js';

const options = z.object({ json, limit, cursor, cancel: z.boolean().default(false) });

export const exportsCommand = (): Command =>
  new Command('exports')
    .argument('[export]', 'id of an export', idArgument)
    .option('--cancel', 'ask the export to stop')
    .addOption(cursorOption())
    .addOption(limitOption())
    .addOption(jsonOption())
    .action(async (id: string | undefined, raw: unknown) => {
      const asked = options.parse(raw);
      if (id === undefined && asked.cancel) throw misuse('The option --cancel needs the id of an export.');
      const client = connect();
      if (id === undefined) {
        const page = await client.listExports({ limit: asked.limit, cursor: asked.cursor });
        if (asked.json) return printJson(page);
        printTable(
          ['EXPORT', 'STATUS', 'FORMAT', 'RUNS', 'ROWS', 'FOLDER'],
          page.items.map(({ id: exported, status, request, progress: { runs, done, rows }, folder }) => [
            ...[exported, status, request.format, `${done}/${runs ?? '?'}`, String(rows), folder],
          ]),
        );
        return printMore(page);
      }
      const view = asked.cancel ? await client.cancelExport(id) : await client.getExport(id);
      if (asked.json) printJson(view);
      else printExport(view);
    });
