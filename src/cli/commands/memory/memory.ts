import { Command, Option } from 'commander';
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
  messageOption,
  misuse,
  printMore,
  whole,
} from '../../options.js';
import { jsonText, plain, print, printJson, printTable } from '../../print.js';
import { printChanged } from '../../run-text.js';

const options = z.object({
  ...{ json, limit, cursor },
  owner: z.string().optional(),
  query: z.string().optional(),
  near: z.string().optional(),
  after: z.number().default(0),
  forget: z.boolean().default(false),
  message: z.string().optional(),
});
type Options = z.infer<typeof options>;

export const memoryCommand = (): Command =>
  new Command('memory')
    .argument('[space]', 'name of a memory space', idArgument)
    .argument('[key]', 'key of a document')
    .option('--owner <owner>', 'the run, session, subject or agent; without it, the tenant, or in a list all of them')
    .option('--query <words>', 'in a list: only documents with all of these words')
    .option('--near <text>', 'in a list: the documents whose meaning is nearest to the text, the nearest first')
    .addOption(new Option('--after <version>', 'only changes after this version').argParser(whole(0, 999_999_999)))
    .option('--forget', 'removes the document with its history')
    .addOption(messageOption('with --forget: why, for the signed log'))
    .addOption(cursorOption())
    .addOption(limitOption())
    .addOption(jsonOption())
    .action(async (space: string | undefined, key: string | undefined, raw: unknown) => {
      const asked = options.parse(raw);
      if (key === undefined && asked.forget) throw misuse('The option --forget needs a space and a key.');
      if (asked.message !== undefined && !asked.forget) throw misuse('The option -m goes with --forget alone.');
      if (space === undefined) return listSpaces(asked);
      if (key === undefined) return list(space, asked);
      return asked.forget ? forget(space, key, asked) : read(space, key, asked);
    });

async function listSpaces(asked: Options): Promise<void> {
  const page = await connect().listMemorySpaces();
  if (asked.json) return printJson(page);
  const hasVectors = page.items.some(({ withoutVector }) => withoutVector !== undefined);
  printTable(
    ['SPACE', 'SCOPE', 'DOCUMENTS', 'CHANGED', ...(hasVectors ? ['WITHOUT VECTOR'] : [])],
    page.items.map(({ space, scope, documents, changedAt, withoutVector = '' }) => [
      ...[space, scope, String(documents), changedAt ?? ''],
      ...(hasVectors ? [String(withoutVector)] : []),
    ]),
  );
}

async function list(space: string, asked: Options): Promise<void> {
  const { owner, query, near, limit: most, cursor: from, json: asJson } = asked;
  const page = await connect().listMemory(space, { owner, q: query, near, limit: most, cursor: from });
  if (asJson) return printJson(page);
  printTable(
    ['OWNER', 'KEY', 'VERSION', 'LABELS', 'CHANGED', ...(near === undefined ? [] : ['DISTANCE'])],
    page.items.map((one) => [
      ...[one.owner, one.key, String(one.version), one.labels.join(' '), one.changedAt],
      ...(one.distance === undefined ? [] : [one.distance.toFixed(4)]),
    ]),
  );
  for (const { integrity } of page.items) printChanged(integrity);
  printMore(page);
}

async function read(space: string, key: string, { owner, after, limit: most, json: asJson }: Options): Promise<void> {
  const document = await connect().getMemory(space, { key, owner, after, limit: most });
  if (asJson) return printJson(document);
  printChanged(document.integrity);
  print(jsonText(document.value, 2));
  print('');
  printTable(
    ['VERSION', 'RUN', 'CALL', 'AGENT', 'BY', 'LABELS', 'AT'],
    document.history.map((one) => [
      ...[String(one.version), one.runId, one.callId, one.agent],
      ...[one.actors.join(' '), one.labels.join(' '), one.at],
    ]),
  );
  if (document.more) print(`There are more; go on with --after ${document.history.at(-1)?.version ?? after}.`);
}

async function forget(space: string, key: string, { owner, message, json: asJson }: Options): Promise<void> {
  const gone = await connect().forgetMemory(space, { key, owner, ...(message !== undefined && { reason: message }) });
  if (asJson) return printJson(gone);
  print(`${plain(gone.key)} of ${gone.space} forgotten, with its history (version ${gone.version})`);
}
