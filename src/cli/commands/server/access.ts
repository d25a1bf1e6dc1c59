import { Command } from 'commander';
import { z } from 'zod';
import { connect } from '../../connect.js';
import { cursor, cursorOption, idArgument, json, jsonOption, limit, limitOption, printMore } from '../../options.js';
import { printJson, printTable } from '../../print.js';

const options = z.object({ json, limit, cursor, actor: z.string().optional() });

export const accessCommand = (): Command =>
  new Command('access')
    .argument('[run]', 'only what concerns this run', idArgument)
    .option('--actor <actor>', 'only requests of this actor')
    .addOption(cursorOption())
    .addOption(limitOption())
    .addOption(jsonOption())
    .action(async (run: string | undefined, raw: unknown) => {
      const { json: asJson, ...filter } = options.parse(raw);
      const client = connect();
      const page = run === undefined ? await client.listAccess(filter) : await client.listRunAccess(run, filter);
      if (asJson) return printJson(page);
      printTable(
        ['AT', 'ACTOR', 'ROLE', 'ROUTE', 'TARGET', 'STATUS'],
        page.items.map((one) => [
          ...[one.at, one.actor, one.role, `${one.method} ${one.route}`],
          ...[one.target ?? '', String(one.status)],
        ]),
      );
      printMore(page);
    });
