import { Command } from 'commander';
import { z } from 'zod';
import { connect } from '../../connect.js';
import { idArgument, json, jsonOption, message, messageOption } from '../../options.js';
import { print, printJson } from '../../print.js';

const options = z.object({ json, message });

export const cancelCommand = (): Command =>
  new Command('cancel')
    .argument('<run>', 'id of a run', idArgument)
    .addOption(messageOption('why; kept in the log of the run'))
    .addOption(jsonOption())
    .action(async (id: string, raw: unknown) => {
      const { json: asJson, message: reason } = options.parse(raw);
      const run = await connect().cancelRun(id, reason === undefined ? {} : { reason });
      if (asJson) return printJson(run);
      print(run.status === 'cancelled' ? `run ${run.id} cancelled` : `run ${run.id} ${run.status}, asked to stop`);
    });
