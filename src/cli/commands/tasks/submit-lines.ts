import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { HoldfastError } from '../../../core/errors/errors.js';
import { digestOf, type JsonObject, toJson } from '../../../core/json.js';
import { PAGE_LIMIT, wholeItems } from '../../../core/page.js';
import { idOf, type NamedVersion } from '../../../core/tasks/registry.js';
import type { BatchAnswer } from '../../../core/tasks/task-batch.js';
import type { Client } from '../../client.js';
import { jsonText, print } from '../../print.js';

interface Told {
  readonly asJson: boolean;
  readonly key: string | undefined;
}

/**
 * Submits the tasks of a file, one in each line. The file is its own idempotency key: sent again it gives the same tasks, and goes on
 * where a broken connection stopped. Exit code 1 where a line was not taken.
 */
export async function submitBatch(client: Client, file: string, { asJson, key }: Told): Promise<void> {
  if (!existsSync(file)) throw new HoldfastError('invalid_request', `There is no file ${file}.`);
  await submitLines(client, createReadStream(file), key ?? (await digestOfFile(file)), asJson);
}

/** Submits the tasks of a dataset, each with the same options. The dataset with the options is its own key. */
export async function submitDataset(
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
