import { Command } from 'commander';
import { z } from 'zod';
import { HoldfastError } from '../core/errors.js';
import { connect } from './connect.js';
import { idArgument, json, jsonOption } from './options.js';
import { print, printJson } from './print.js';

const options = z.object({ json });

export const verifyCommand = (): Command =>
  new Command('verify')
    .description('Verify the event log of a run; exit code 1 if it is broken.')
    .argument('<run>', 'id of a run', idArgument)
    .addOption(jsonOption())
    .action(async (id: string, raw: unknown) => {
      const report = await connect().verifyRun(id);
      if (options.parse(raw).json) {
        printJson(report);
        if (!report.ok) process.exitCode = 1;
        return;
      }
      if (!report.ok) {
        const what =
          report.broken === null ? 'it does not verify' : `event ${report.broken.seq}: ${report.broken.what}`;
        throw new HoldfastError('log_broken', `The log of run ${id} is broken: ${what}`, {
          hint: `Events 1 to ${report.events} are whole; what comes after them cannot be trusted.`,
        });
      }
      print(`ok: ${report.events} events, ${report.complete ? 'complete' : 'the run goes on'}`);
      print(`head ${report.headHash}`);
    });
