import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout } from 'node:timers/promises';
import { Command, Option } from 'commander';
import { z } from 'zod';
import { HoldfastError } from '../../../core/errors/errors.js';
import { digestOf, type JsonObject, jsonObject, toJson } from '../../../core/json.js';
import { PAGE_LIMIT, wholeItems } from '../../../core/page.js';
import { isOver } from '../../../core/runs/run.js';
import type { BatchAnswer } from '../../../core/tasks/batch.js';
import { idOf, type NamedVersion } from '../../../core/tasks/registry.js';
import type { SubmitTask, TaskView } from '../../../core/tasks/task.js';
import type { Client } from '../../client.js';
import { connect } from '../../connect.js';
import { json, jsonObjectOption, jsonOption, keyOption, whole } from '../../options.js';
import { jsonText, print, printJson } from '../../print.js';
import { retryFor, retryOption, ServerReturn } from '../../server-return.js';
import { readTask } from './read-task.js';
import { printTask } from './task-list.js';
import { versionArgument } from './task-registry.js';

const WAIT_SECONDS = 30;
/** So often one is looked at that waits for its next attempt. */
const LOOK_MS = 1000;

const options = z.object({
  json,
  agent: z.string(),
  parameters: jsonObject.optional(),
  seed: z.number().optional(),
  image: z.string().optional(),
  reward: z.string().optional(),
  priority: z.number().optional(),
  metadata: jsonObject.optional(),
  key: z.string().optional(),
});

const runOptions = options.extend({ retryFor });

const batchOptions = options.extend({
  agent: z.string().optional(),
  batch: z.string().optional(),
  dataset: z.object({ name: z.string(), version: z.string() }).optional(),
});

const TASK =
  'a definition file, a directory, the name of one that ships, or <name>@<version> of one that the server knows';

const withOptions = (command: Command): Command =>
  command
    .addOption(
      new Option('--parameters <json>', 'of the [template](tasks/templates.md), as JSON, or `@` and a file').argParser(
        jsonObjectOption,
      ),
    )
    .addOption(
      new Option(
        '--seed <n>',
        'what is random in the task follows from it; without it another one each time',
      ).argParser(whole(0, Number.MAX_SAFE_INTEGER)),
    )
    .option('--image <image>', 'in place of that of the definition')
    .option(
      '--reward <name>',
      'a [reward function](tasks/rewards.md) of the configuration, in place of the weighted signals',
    )
    .addOption(new Option('--priority <n>', 'lower starts earlier').argParser(whole(1, 1_000_000)))
    .addOption(new Option('--metadata <json>', 'labels, as JSON, or `@` and a file').argParser(jsonObjectOption))
    .addOption(
      new Option('--key <key>', 'idempotency key: the same key and request again is the same task').argParser(
        keyOption,
      ),
    )
    .addOption(jsonOption());

export const taskSubmitCommand = (): Command =>
  withOptions(
    new Command('submit')
      .argument('[task]', TASK)
      .option('--agent <agent>', 'the agent that does it; it must be granted what its tools need'),
  )
    .description('Submit a task, or with --batch many.')
    .option(
      '--batch <file>',
      'submits each line of a file instead, in the form of [`POST ' +
        '/api/v1/tasks/batch`](tasks/batches.md). Of the other options only `--key` and `--json` go ' +
        'with it. The file is its own key: sent again it is the same tasks. The exit code is 1 ' +
        'where a line was not taken',
    )
    .addOption(
      new Option(
        '--dataset <name@version>',
        'submits each task of a [dataset](tasks/registry.md#datasets) instead. The dataset with the options is its own key. ' +
          'The exit code is 1 where a task was not taken',
      ).argParser(versionArgument),
    )
    .action(async (task: string | undefined, raw: unknown, command: Command) => {
      const { json: isJson, key, batch, dataset, agent, ...others } = batchOptions.parse(raw);
      if (dataset !== undefined) {
        if (task !== undefined || batch !== undefined || agent === undefined || others.parameters !== undefined)
          command.error('error: --dataset takes no task, --batch or --parameters, and needs --agent');
        else await submitDataset(connect(), dataset, { agent, ...others }, { asJson: isJson, key });
        return;
      }
      if (batch !== undefined) {
        const more = [...(task === undefined ? [] : ['a task']), ...(agent === undefined ? [] : ['--agent'])];
        const given = [...more, ...Object.keys(others).map((name) => `--${name}`)];
        if (given.length > 0)
          command.error(`error: --batch takes no ${given.join(', no ')}: its lines say all of that`);
        await submitBatch(connect(), batch, { asJson: isJson, key });
        return;
      }
      if (task === undefined || agent === undefined)
        return command.error('error: a task and --agent are needed, or --batch, or --dataset');
      const { asJson, submitted } = await submit(connect(), task, raw);
      if (asJson) printJson(submitted);
      else print(`task ${submitted.id} ${submitted.status}`);
    });

export const taskRunCommand = (): Command =>
  withOptions(
    new Command('run')
      .argument('<task>', TASK)
      .requiredOption('--agent <agent>', 'the agent that does it; it must be granted what its tools need'),
  )
    .description('Submit a task and wait for its result; exit code 1 unless it is a success.')
    .addOption(retryOption())
    .action(async (task: string, raw: unknown) => {
      const client = connect();
      const { retryFor: retrySeconds, ...asked } = runOptions.parse(raw);
      const server = new ServerReturn(retrySeconds);
      const { asJson, submitted } = await submit(client, task, asked, (request) => server.ask(request));
      // Said before the wait, so that the task can be found if the wait is broken off.
      if (!asJson) print(`task ${submitted.id} ${submitted.status}`);
      const over = await settled(client, submitted, server);
      const rewards = await server.ask(() => client.listRewards(over.runId, { limit: 50 }));
      const reward = wholeItems(rewards).at(-1) ?? null;
      if (asJson) printJson({ task: over, reward });
      else {
        printTask(over);
        for (const [name, value] of Object.entries(reward?.signals ?? {})) print(`  ${name} ${value}`);
        if (over.status === 'paused') print('It waits for a person: holdfast inbox');
      }
      if (over.result?.type !== 'success') process.exitCode = 1;
    });

/** The key makes a repeated request the same task. */
async function submit(
  client: Client,
  task: string,
  raw: unknown,
  send: <T>(request: () => Promise<T>) => Promise<T> = (request) => request(),
) {
  const { json: asJson, key = randomUUID(), ...asked } = options.parse(raw);
  const request = { task: definitionIn(task), ...asked };
  const submitted = await send(() => client.submitTask(request, { key }));
  return { asJson, submitted };
}

/** A name with a version is one that the server knows. Throws as `readTask` does. */
function definitionIn(task: string): SubmitTask['task'] {
  const [, name, version] = /^([a-z0-9][a-z0-9._-]*)@([0-9][0-9A-Za-z.+-]*)$/.exec(task) ?? [];
  return name === undefined || version === undefined ? readTask(task) : { name, version };
}

/** Waits until nothing more happens by itself: a paused one waits for a person. */
async function settled(client: Client, submitted: TaskView, server: ServerReturn): Promise<TaskView> {
  for (;;) {
    const task = await server.ask(() => client.getTask(submitted.id));
    if (isOver(task.status) || task.status === 'paused') return task;
    if (task.retryAt === null) await server.ask(() => client.getRun(task.runId, { wait: WAIT_SECONDS }));
    else await setTimeout(LOOK_MS);
  }
}

interface Told {
  readonly asJson: boolean;
  readonly key: string | undefined;
}

/**
 * Submits the tasks of a file, one in each line. The file is its own idempotency key: sent again it gives the same tasks, and goes on
 * where a broken connection stopped. Exit code 1 where a line was not taken.
 */
async function submitBatch(client: Client, file: string, { asJson, key }: Told): Promise<void> {
  if (!existsSync(file)) throw new HoldfastError('invalid_request', `There is no file ${file}.`);
  await submitLines(client, createReadStream(file), key ?? (await digestOfFile(file)), asJson);
}

/** Submits the tasks of a dataset, each with the same options. The dataset with the options is its own key. */
async function submitDataset(
  client: Client,
  of: NamedVersion,
  asked: { readonly agent: string; readonly metadata?: JsonObject | undefined },
  { asJson, key }: Told,
): Promise<void> {
  const { digest } = await client.getDataset(of.name, of.version);
  const own = `dataset-${digestOf(toJson({ digest, asked }))}`;
  await submitLines(client, Readable.from(linesOf(client, of, asked)), key ?? own, asJson);
}

async function* linesOf(
  client: Client,
  of: NamedVersion,
  asked: { readonly metadata?: JsonObject | undefined },
): AsyncGenerator<Buffer> {
  const metadata = { dataset: idOf(of), ...asked.metadata };
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<Client['listDatasetTasks']>> = await client.listDatasetTasks(of.name, of.version, {
      limit: PAGE_LIMIT,
      ...(cursor === null ? {} : { cursor }),
    });
    for (const { name, version } of wholeItems(page))
      yield Buffer.from(`${JSON.stringify({ ...asked, task: { name, version }, key: name, metadata })}\n`);
    cursor = page.nextCursor;
  } while (cursor !== null);
}

async function submitLines(client: Client, lines: Readable, key: string, asJson: boolean): Promise<void> {
  for await (const answer of client.submitTasks(Readable.toWeb(lines) as ReadableStream<Uint8Array>, key)) {
    if (asJson) print(jsonText(answer));
    else print(textOf(answer));
    if ('error' in answer) process.exitCode = 1;
  }
}

const textOf = (answer: BatchAnswer): string => {
  if ('end' in answer) return `${answer.submitted} submitted, ${answer.known} known before, ${answer.failed} not taken`;
  if ('status' in answer) return `line ${answer.line} ${answer.id} ${answer.status}`;
  const { code, message, fields } = answer.error;
  const named = fields.map(({ pointer, detail }) => ` ${pointer} ${detail}`).join(';');
  return `line ${answer.line} ${code}: ${message}${named}`;
};

async function digestOfFile(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return `file-${hash.digest('hex')}`;
}
