import { Command } from 'commander';
import { z } from 'zod';
import type { AlertView } from '../../../core/quality/alert.js';
import { connect } from '../../connect.js';
import { json, jsonOption, message, messageOption, misuse, printUnreadable } from '../../options.js';
import { few, print, printJson, printTable } from '../../print.js';

const options = z.object({ json, message, silence: z.string().optional(), minutes: z.coerce.number().default(60) });

export const alertsCommand = (): Command =>
  new Command('alerts')
    .option('--silence <rule>', 'has no event tell of this rule for a while')
    .option('--minutes <n>', 'for how long; 0 ends the silence', '60')
    .addOption(messageOption('why; with --silence'))
    .addOption(jsonOption())
    .action(async (raw: unknown) => {
      const { silence, minutes, message: reason, json: asJson } = options.parse(raw);
      const client = connect();
      if (silence === undefined) {
        const list = await client.listAlerts();
        if (asJson) return printJson(list);
        printTable(COLUMNS, list.items.map(cells));
        return printUnreadable(list.unreadable);
      }
      if (reason === undefined) throw misuse('The option --silence needs a reason: --message.');
      const alert = await client.silenceAlert(silence, { minutes, reason });
      if (asJson) return printJson(alert);
      print(`${alert.name}: ${alert.silence === null ? 'not silenced' : `silenced until ${alert.silence.until}`}`);
    });

const COLUMNS = ['ALERT', 'STATE', 'SINCE', 'MEASURE', 'VALUE', 'COMPARED', 'BOUND', 'SILENCED UNTIL'] as const;

const cells = ({ name, state, since, measure, type, value, compared, above, below, silence }: AlertView) => [
  ...[name, state, since ?? '', `${measure} (${type})`, few(value), few(compared)],
  ...[above === null ? `< ${few(below)}` : `> ${few(above)}`, silence?.until ?? ''],
];
