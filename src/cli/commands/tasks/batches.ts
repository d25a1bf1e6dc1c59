import { Command, Option } from 'commander';
import { z } from 'zod';
import { TASK_GROUPINGS, taskGrouping } from '../../../core/quality/task-groups.js';
import type { BatchRow } from '../../../core/tasks/batch.js';
import type { PassRate } from '../../../core/tasks/pass-rate.js';
import type { Client } from '../../client.js';
import { connect } from '../../connect.js';
import {
  cursor,
  cursorOption,
  json,
  jsonOption,
  keyOption,
  limit,
  limitOption,
  message,
  messageOption,
  misuse,
  printMore,
} from '../../options.js';
import { plain, print, printJson, printTable } from '../../print.js';

const options = z.object({
  ...{ json, limit, cursor, message },
  by: taskGrouping.optional(),
  cancel: z.boolean().default(false),
});
type Options = z.infer<typeof options>;

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
const rateText = (rate: PassRate): string =>
  rate === null ? '' : `${percent(rate.value)} (${percent(rate.low)} to ${percent(rate.high)})`;
const meanText = (mean: number | null): string => (mean === null ? '' : mean.toFixed(3));
const atMost = ({ tasks, atLeast }: BatchRow): string => (atLeast ? `${tasks}+` : String(tasks));

export const batchesCommand = (): Command =>
  new Command('batches')
    .argument('[key]', 'key of a batch', keyOption)
    .addOption(new Option('--by <what>', 'groups its tasks, or the newest of all').choices(TASK_GROUPINGS))
    .option('--cancel', 'cancels its open tasks')
    .addOption(messageOption('why; with --cancel'))
    .addOption(cursorOption())
    .addOption(limitOption())
    .addOption(jsonOption())
    .action(async (key: string | undefined, raw: unknown) => {
      const asked = options.parse(raw);
      if (key === undefined && asked.cancel) throw misuse('The option --cancel needs the key of a batch.');
      if (asked.cancel && asked.by !== undefined) throw misuse('The options --cancel and --by exclude each other.');
      if (!asked.cancel && asked.message !== undefined) throw misuse('The option --message goes with --cancel.');
      const client = connect();
      if (asked.by !== undefined) return groups(client, key, { ...asked, by: asked.by });
      if (key === undefined) return list(client, asked);
      return asked.cancel ? cancel(client, key, asked) : show(client, key, asked);
    });

async function list(client: Client, asked: Options): Promise<void> {
  const page = await client.listBatches({ limit: asked.limit, cursor: asked.cursor });
  if (asked.json) return printJson(page);
  printTable(
    ['BATCH', 'TASKS', 'OPEN', 'FAILED', 'PASSED', 'REWARD', 'SUBMITTED'],
    page.items.map((one) => [
      ...[one.key, atMost(one), String(one.open), String(one.failed)],
      ...[one.passRate === null ? '' : percent(one.passRate.value), meanText(one.meanReward), one.submittedAt],
    ]),
  );
  printMore(page);
}

const countsText = (counts: object): string =>
  Object.entries(counts)
    .flatMap(([name, n]) => (n === 0 ? [] : [`${n} ${name.replace('_', ' ')}`]))
    .join(', ');

async function show(client: Client, key: string, asked: Options): Promise<void> {
  const batch = await client.getBatch(key);
  if (asked.json) return printJson(batch);
  print(`batch    ${plain(batch.key)}`);
  print(`by       ${plain(batch.actor)}, ${batch.submittedAt}`);
  if (batch.lines !== null) print(`lines    ${batch.lines}, ${batch.refused ?? 0} refused`);
  print(`tasks    ${atMost(batch)}: ${countsText(batch.byStatus)}`);
  if (batch.passRate !== null) print(`passed   ${rateText(batch.passRate)}`);
  if (batch.meanReward !== null) print(`reward   ${meanText(batch.meanReward)} in the mean`);
  print(`results  ${countsText(batch.byResult)}`);
  print(`cost     ${batch.costUsd} USD${batch.unpriced > 0 ? `, and ${batch.unpriced} runs without a price` : ''}`);
  for (const { type, name, count } of batch.failures) print(`${String(count).padStart(7)}  ${type}: ${plain(name)}`);
}

async function groups(
  client: Client,
  key: string | undefined,
  { by, json: asJson }: Options & { readonly by: (typeof TASK_GROUPINGS)[number] },
): Promise<void> {
  const found = await client.groupTasks({ by, batch: key });
  if (asJson) return printJson(found);
  printTable(
    [by.toUpperCase(), 'TASKS', 'ENDED', 'PASSED', 'REWARD', 'TURNS', 'USD'],
    found.items.map((one) => [
      ...[one.name, String(one.tasks), String(one.ended), rateText(one.passRate), meanText(one.meanReward)],
      ...[one.meanTurns === null ? '' : one.meanTurns.toFixed(1), one.costUsd],
    ]),
  );
  if (found.atLeast) print('There are more tasks than the newest ones that are grouped here.');
}

/** Asks until none is left, or until nothing more is cancelled by it. */
async function cancel(client: Client, key: string, asked: Options): Promise<void> {
  let cancelled = 0;
  let left = 0;
  do {
    const answer = await client.cancelBatch(key, asked.message === undefined ? {} : { reason: asked.message });
    cancelled += answer.cancelled;
    left = answer.cancelled === 0 ? 0 : answer.left;
  } while (left > 0);
  if (asked.json) return printJson({ cancelled, left });
  print(`batch ${plain(key)}: ${cancelled} tasks cancelled or asked to stop`);
}
