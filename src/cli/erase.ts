import { Command } from 'commander';
import { z } from 'zod';
import { connect } from './connect.js';
import { idArgument, json, jsonOption, messageOption } from './options.js';
import { print, printJson } from './print.js';

const options = z.object({ json, message: z.string(), family: z.boolean().default(false) });

export const eraseCommand = (): Command =>
  new Command('erase')
    .description('Erase the content of a run that is over, for good; its log still verifies.')
    .argument('<run>', 'id of a run', idArgument)
    .addOption(messageOption('why; kept, so it should name no person').makeOptionMandatory())
    .option('--family', 'also the runs below it, and forks of any of them')
    .addOption(jsonOption())
    .action(async (id: string, raw: unknown) => {
      const { json: asJson, message: reason, family } = options.parse(raw);
      const erasure = await connect().eraseRun(id, { reason, family });
      if (asJson) return printJson(erasure);
      for (const one of erasure.erased) print(`run ${one} erased`);
      if (erasure.erased.length === 0) print(`run ${id} was erased at ${erasure.erasedAt}`);
      for (const { runId, why } of erasure.copies) print(`copies in ${runId} (${why})`);
    });
