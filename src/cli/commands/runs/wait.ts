import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { z } from 'zod';
import { isOver, type RunView } from '../../../core/runs/run.js';
import type { Client } from '../../client.js';
import { connect } from '../../connect.js';
import { EXIT_CODES } from '../../exit-codes.js';
import { idArgument, json, jsonOption } from '../../options.js';
import { printJson } from '../../print.js';
import { printRun } from '../../run-text.js';
import { retryFor, retryOption, ServerReturn } from '../../server-return.js';

const WAIT_SECONDS = 30;
/** A server that stops answers at once. */
const BETWEEN_MS = 250;

const options = z.object({ json, retryFor });

export const waitCommand = (): Command =>
  new Command('wait')
    .argument('<run>', 'id of a run', idArgument)
    .addOption(retryOption())
    .addOption(jsonOption())
    .action(async (id: string, raw: unknown) => {
      const asked = options.parse(raw);
      const run = await restedRun(connect(), id, new ServerReturn(asked.retryFor));
      if (asked.json) printJson(run);
      else printRun(run);
      if (hasFailed(run)) process.exitCode = EXIT_CODES.failed.code;
    });

export const hasFailed = ({ status }: RunView): boolean => status === 'failed' || status === 'cancelled';

/** Waits until a run is paused or over, also while its server restarts. Throws as `ServerReturn` does. */
export async function restedRun(client: Client, id: string, server: ServerReturn): Promise<RunView> {
  for (;;) {
    const run = await server.ask(() => client.getRun(id, { wait: WAIT_SECONDS }));
    if (isOver(run.status) || run.status === 'paused') return run;
    await sleep(BETWEEN_MS);
  }
}
