import { Command, Option } from 'commander';
import { z } from 'zod';
import type { SessionItem } from '../../../core/agents/session.js';
import type { Client } from '../../client.js';
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
  whole,
} from '../../options.js';
import { print, printJson, printTable } from '../../print.js';

const options = z.object({ json, limit, cursor, after: z.number().optional(), delete: z.boolean().default(false) });
type Options = z.infer<typeof options>;

export const sessionsCommand = (): Command =>
  new Command('sessions')
    .argument('[session]', 'id of a session', idArgument)
    .addOption(new Option('--after <n>', 'only items after this number').argParser(whole(0, 999_999_999)))
    .option('--delete', 'removes the session with its items; its runs stay')
    .addOption(cursorOption())
    .addOption(limitOption())
    .addOption(jsonOption())
    .action(async (id: string | undefined, raw: unknown) => {
      const asked = options.parse(raw);
      if (id === undefined && asked.delete) throw misuse('The option --delete needs the id of a session.');
      if (id === undefined && asked.after !== undefined) throw misuse('The option --after needs the id of a session.');
      if (id !== undefined && asked.cursor !== undefined)
        throw misuse('The option --cursor goes without a session; its items go on with --after.');
      const client = connect();
      if (id === undefined) return list(client, asked);
      if (!asked.delete) return read(client, id, asked);
      const removed = await client.deleteSession(id);
      if (asked.json) return printJson(removed);
      print(`session ${removed.id} deleted, ${removed.items} items`);
    });

async function list(client: Client, asked: Options): Promise<void> {
  const page = await client.listSessions({ limit: asked.limit, cursor: asked.cursor });
  if (asked.json) return printJson(page);
  printTable(
    ['SESSION', 'ITEMS', 'BYTES', 'RUN', 'UPDATED'],
    page.items.map(({ id, items, bytes, runId, updatedAt }) => [
      id,
      String(items),
      String(bytes),
      runId ?? '',
      updatedAt,
    ]),
  );
  printMore(page);
}

async function read(client: Client, id: string, asked: Options): Promise<void> {
  const page = await client.listSessionItems(id, { limit: asked.limit, cursor: String(asked.after ?? 0) });
  if (asked.json) return printJson(page);
  printTable(
    ['#', 'RUN', 'TYPE', 'ITEM'],
    page.items.map(({ seq, runId, item }) => [String(seq), runId ?? '', kindOf(item), JSON.stringify(item)]),
  );
  printMore(page, '--after');
}

const kindOf = (item: SessionItem['item']): string => String(item['role'] ?? item['type'] ?? 'item');
