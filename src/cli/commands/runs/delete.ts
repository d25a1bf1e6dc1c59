import { Command } from 'commander';
import { z } from 'zod';
import { connect } from '../../connect.js';
import { idArgument, json, jsonOption } from '../../options.js';
import { print, printJson } from '../../print.js';

const options = z.object({ json });

export const deleteCommand = (): Command =>
  new Command('delete')
    .argument('<run>', 'id of a run', idArgument)
    .addOption(jsonOption())
    .action(async (id: string, raw: unknown) => {
      const asked = options.parse(raw);
      const run = await connect().deleteRun(id);
      if (asked.json) return printJson(run);
      print(`run ${run.id} deleted`);
    });
