import { Command, Option } from 'commander';
import { z } from 'zod';
import { connect } from '../../connect.js';
import { json, jsonOption } from '../../options.js';
import { print, printJson, printTable } from '../../print.js';

const options = z.object({ json, lift: z.string().optional(), tenant: z.string().default('default') });

export const workCommand = (): Command =>
  new Command('work')
    .addOption(new Option('--lift <name>', 'forgets the deaths with the work of this name'))
    .addOption(
      new Option(
        '--tenant <tenant>',
        'whose work it is, for `--lift`; `default` by default, also for what is of all tenants',
      ),
    )
    .addOption(jsonOption())
    .action(async (raw: unknown) => {
      const { json: asJson, lift, tenant } = options.parse(raw);
      const client = connect();
      if (lift !== undefined) {
        const lifted = await client.liftWork({ name: lift, tenant });
        return asJson ? printJson(lifted) : print(`${lifted.forgotten} deaths forgotten`);
      }
      const { items } = await client.listSetAside();
      if (asJson) return printJson({ items });
      printTable(
        ['TENANT', 'WORK', 'DEATHS', 'LAST'],
        items.map(({ tenant: of, name, deaths, diedAt }) => [of, name, String(deaths), diedAt]),
      );
    });
