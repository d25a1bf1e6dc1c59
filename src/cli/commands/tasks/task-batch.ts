import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { HoldfastError } from '../../../core/errors/errors.js';
import type { BatchAnswer } from '../../../core/tasks/task-batch.js';
import type { Client } from '../../client.js';
import { jsonText, print } from '../../print.js';

/**
 * Submits the tasks of a file, one in each line. The file is its own idempotency key: sent again it gives the same tasks, and goes on
 * where a broken connection stopped. Exit code 1 where a line was not taken.
 */
export async function submitBatch(
  client: Client,
  file: string,
  { asJson, key }: { readonly asJson: boolean; readonly key: string | undefined },
): Promise<void> {
  if (!existsSync(file)) throw new HoldfastError('invalid_request', `There is no file ${file}.`);
  const lines = Readable.toWeb(createReadStream(file)) as ReadableStream<Uint8Array>;
  for await (const answer of client.submitTasks(lines, key ?? (await digestOfFile(file)))) {
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
