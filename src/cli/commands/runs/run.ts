import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { TextDecoder } from 'node:util';
import { Command, Option } from 'commander';
import { z } from 'zod';
import { HoldfastError } from '../../../core/errors/errors.js';
import { jsonObject } from '../../../core/json.js';
import { connect } from '../../connect.js';
import { EXIT_CODES } from '../../exit-codes.js';
import { json, jsonObjectOption, jsonOption, keyOption } from '../../options.js';
import { print, printJson } from '../../print.js';
import { printRun } from '../../run-text.js';
import { retryFor, retryOption, ServerReturn } from '../../server-return.js';
import { hasFailed, restedRun } from './wait.js';

const options = z.object({
  json,
  wait: z.boolean().default(false),
  retryFor,
  key: z.string().optional(),
  session: z.string().optional(),
  subject: z.array(z.string()).optional(),
  metadata: jsonObject.optional(),
});

/** `of`: what is run; a run of a plan is started like one of an agent. */
export const runCommand = (of: 'agent' | 'plan' = 'agent'): Command =>
  new Command('run')
    .argument(`<${of}>`, `name of ${of === 'plan' ? 'a plan' : 'an agent'}`)
    .argument('<input>', `what the ${of} is asked; - reads it from stdin`)
    .option(
      '--wait',
      'waits until the run is paused or over, and prints it; the exit code is 1 if it failed ' + 'or was cancelled',
    )
    .addOption(retryOption())
    .addOption(
      new Option('--key <key>', 'idempotency key: the same key and request again is the same run').argParser(keyOption),
    )
    .option(
      '--session <session>',
      'the conversation that the run goes on with; the first run of a [session](agents/sessions.md) ' + 'begins it',
    )
    .option(
      '--subject <subjects...>',
      'whom the run is about: all of one of them can be ' + '[erased](operate/erasure.md#erasing-a-subject)',
    )
    .addOption(
      new Option(
        '--metadata <json>',
        'what the run says of itself, as JSON, or `@` and a file: [labels](data/trajectories.md) as ' +
          '`taskId` and `tags`, and others',
      ).argParser(jsonObjectOption),
    )
    .addOption(jsonOption())
    .action(async (agent: string, input: string, raw: unknown) => {
      const asked = options.parse(raw);
      const client = connect();
      const { session: sessionId, subject: subjects, metadata } = asked;
      const request = { agent, input: input === '-' ? await fromStdin() : input, sessionId, subjects, metadata };
      const key = asked.key ?? randomUUID();
      const server = new ServerReturn(asked.retryFor);
      const start = () => client.startRun(request, { key });
      // The key makes a repeated request the same run.
      const started = asked.wait ? await server.ask(start) : await start();
      // Said before the wait, so that the run can be found if the wait is broken off.
      if (!asked.json) print(`run ${started.id} ${started.status}`);
      const run = asked.wait ? await restedRun(client, started.id, server) : started;
      if (asked.json) printJson(run);
      else if (asked.wait) printRun(run);
      if (hasFailed(run)) process.exitCode = EXIT_CODES.failed.code;
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
