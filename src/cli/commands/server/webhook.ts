import { Command } from 'commander';
import { z } from 'zod';
import type { WebhookView } from '../../../core/agents/webhook.js';
import { connect } from '../../connect.js';
import { json, jsonOption, printUnreadable } from '../../options.js';
import { plain, print, printJson, printTable } from '../../print.js';

const options = z.object({ json });

export const webhookCommand = (): Command => new Command('webhook').helpCommand(false).addCommand(listCommand());

const listCommand = (): Command =>
  new Command('list')
    .description('List the webhooks of the configuration, with what they were told.')
    .addOption(jsonOption())
    .action(async (raw: unknown) => {
      const { json: asJson } = options.parse(raw);
      const list = await connect().listWebhooks();
      if (asJson) return printJson(list);
      const { items, unreadable } = list;
      printTable(COLUMNS, items.map(cells));
      for (const { name, problem, tries, nextTryAt } of items)
        if (problem !== null) print(`${name}: ${plain(problem)}; failed ${tries} times, tried again at ${nextTryAt}`);
      printUnreadable(unreadable);
    });

const COLUMNS = ['WEBHOOK', 'STATE', 'DELIVERED', 'LAST', 'BEHIND', 'GIVEN UP', 'FAILING SINCE', 'KINDS'] as const;

const cells = ({ name, state, delivered, deliveredAt, behind, givenUp, failingSince, kinds }: WebhookView) => [
  ...[name, state, String(delivered), deliveredAt ?? '', String(behind), String(givenUp)],
  ...[failingSince ?? '', kinds.join(' ')],
];
