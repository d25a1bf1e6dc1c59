import { Command, Option } from 'commander';
import { z } from 'zod';
import { INTERRUPTION_KINDS } from '../../../core/interruptions/interruption.js';
import type { Client } from '../../client.js';
import { connect } from '../../connect.js';
import { Dialog } from '../../dialog.js';
import { cursor, cursorOption, json, jsonOption, limit, limitOption, printMore, timeOption } from '../../options.js';
import { print, printJson } from '../../print.js';
import { printInterruption } from '../../run-text.js';
import { retryFor, retryOption, ServerReturn } from '../../server-return.js';
import { decideInbox, type InboxFilter } from './inbox-dialog.js';

const text = z.string().optional();
const options = z.object({
  json,
  retryFor,
  list: z.boolean().default(false),
  limit,
  cursor,
  run: text,
  agent: text,
  tool: text,
  kind: text,
  expiresBefore: text,
});

export const inboxCommand = (): Command =>
  new Command('inbox')
    .option('--run <run>', 'only of this run')
    .option('--agent <name>', 'only of this agent')
    .option('--tool <name>', 'only of this tool')
    .addOption(new Option('--kind <kind>', 'only of this kind, such as `approval`').choices(INTERRUPTION_KINDS))
    .addOption(new Option('--expires-before <time>', 'only what expires before a time').argParser(timeOption))
    .option('--list', 'lists, also at a terminal')
    .addOption(cursorOption())
    .addOption(limitOption())
    .addOption(retryOption())
    .addOption(jsonOption())
    .action(async (raw: unknown) => {
      const { json: asJson, list, retryFor: retrySeconds, ...filter } = options.parse(raw);
      const client = connect();
      if (!list && !asJson && process.stdin.isTTY && process.stdout.isTTY)
        return decide(client, new ServerReturn(retrySeconds), filter);
      const page = await client.listInterruptions({ ...filter, status: 'pending' });
      if (asJson) return printJson(page);
      if (page.items.length === 0) print('Nothing waits for a decision.');
      for (const one of page.items) printInterruption(one);
      printMore(page);
    });

async function decide(client: Client, server: ServerReturn, filter: InboxFilter): Promise<void> {
  const dialog = new Dialog(process.stdin);
  try {
    await decideInbox({ client, server, dialog }, filter);
  } finally {
    dialog.close();
  }
}
