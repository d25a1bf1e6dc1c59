import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { TextDecoder } from 'node:util';
import { Command, Option } from 'commander';
import { z } from 'zod';
import { HoldfastError } from '../../../core/errors/errors.js';
import { jsonObject } from '../../../core/json.js';
import { isOver, type RunView } from '../../../core/runs/run.js';
import type { Client } from '../../client.js';
import { connect } from '../../connect.js';
import { json, jsonObjectOption, jsonOption, keyOption } from '../../options.js';
import { print, printJson } from '../../print.js';
import { printRun } from '../../run-text.js';

const WAIT_SECONDS = 30;

const options = z.object({
  json,
  wait: z.boolean().default(false),
  key: z.string().optional(),
  session: z.string().optional(),
  subject: z.array(z.string()).optional(),
  metadata: jsonObject.optional(),
});

export const runCommand = (): Command =>
  new Command('run')
    .description('Start a run of an agent.')
    .argument('<agent>', 'name of an agent')
    .argument('<input>', 'what the agent is asked; - reads it from stdin')
    .option(
      '--wait',
      'waits until the run is paused or over, and prints it; the exit code is 1 if it failed ' + 'or was cancelled',
    )
    .addOption(
      new Option('--key <key>', 'idempotency key: the same key and request again is the same run').argParser(keyOption),
    )
    .option(
      '--session <session>',
      'the conversation that the run goes on with; the first run of a [session](sessions.md) ' + 'begins it',
    )
    .option(
      '--subject <subjects...>',
      'whom the run is about: all of one of them can be ' + '[erased](operate/retention.md#erasing-a-subject)',
    )
    .addOption(
      new Option(
        '--metadata <json>',
        'what the run says of itself, as JSON, or `@` and a file: [labels](trajectories.md) as ' +
          '`taskId` and `tags`, and others',
      ).argParser(jsonObjectOption),
    )
    .addOption(jsonOption())
    .action(async (agent: string, input: string, raw: unknown) => {
      const asked = options.parse(raw);
      const client = connect();
      const { session: sessionId, subject: subjects, metadata } = asked;
      const request = { agent, input: input === '-' ? await fromStdin() : input, sessionId, subjects, metadata };
      const started = await client.startRun(request, { key: asked.key ?? randomUUID() });
      // Said before the wait, so that the run can be found if the wait is broken off.
      if (!asked.json) print(`run ${started.id} ${started.status}`);
      const run = asked.wait ? await settled(client, started.id) : started;
      if (asked.json) printJson(run);
      else if (asked.wait) printRun(run);
      if (run.status === 'failed' || run.status === 'cancelled') process.exitCode = 1;
    });

async function fromStdin(): Promise<string> {
  const bytes = await buffer(process.stdin);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new HoldfastError('invalid_request', 'The input on stdin is not UTF-8.', {
      cause,
      hint: 'Pass it through iconv, or give the agent the name of the file.',
    });
  }
}

async function settled(client: Client, id: string): Promise<RunView> {
  for (;;) {
    const run = await client.getRun(id, { wait: WAIT_SECONDS });
    if (isOver(run.status) || run.status === 'paused') return run;
  }
}
