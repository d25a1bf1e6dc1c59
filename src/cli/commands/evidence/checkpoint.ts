import { Command } from 'commander';
import { z } from 'zod';
import { HoldfastError } from '../../../core/errors/errors.js';
import type { LogView } from '../../../core/evidence/log-view.js';
import { connect } from '../../connect.js';
import { json, jsonOption, misuse } from '../../options.js';
import { plain, print, printJson } from '../../print.js';
import { logLine } from './verify.js';

const options = z.object({ json, now: z.boolean().default(false), verify: z.boolean().default(false) });

export const checkpointCommand = (): Command =>
  new Command('checkpoint')
    .option(
      '--now',
      'first enter what runs have done, and sign it; takes an operator of the ' +
        '[installation](reference/tokens.md#the-installation)',
    )
    .option(
      '--verify',
      'verify that log against every checkpoint and every event; the exit code is 1 if it is ' +
        'broken; takes a viewer of it',
    )
    .addOption(jsonOption())
    .action(async (raw: unknown) => {
      const { json: asJson, now, verify } = options.parse(raw);
      if (now && verify) throw misuse('--now and --verify are two commands.');
      const client = connect();
      if (verify) return verifyLog(asJson);
      const log = await (now ? client.checkpointNow() : client.getLog());
      if (asJson) return printJson(log);
      printLog(log);
    });

function printLog({ entries, checkpoint, keys, signs, writesTo, problem }: LogView): void {
  print(checkpoint === null ? 'no checkpoint is signed' : checkpoint.note.trimEnd());
  print('');
  print(`entries   ${entries}, signed up to ${checkpoint?.size ?? 0}`);
  for (const key of keys) print(`key       ${plain(key)}`);
  print(
    signs
      ? `written   to ${plain(writesTo)}`
      : 'unsigned  this server has no signing key: set HOLDFAST_SIGNING_KEY_FILE',
  );
  if (problem !== null) print(`problem   ${plain(problem)}`);
}

async function verifyLog(asJson: boolean): Promise<void> {
  const report = await connect().verifyLog();
  if (asJson) {
    printJson(report);
    if (!report.ok) process.exitCode = 1;
    return;
  }
  for (const { what, runId } of report.problems)
    print(`broken  ${plain(runId === null ? what : `run ${runId}: ${what}`)}`);
  if (!report.ok)
    throw new HoldfastError(
      'log_broken',
      `The log over all runs is broken: ${report.problems[0]?.what ?? 'it does not verify'}`,
      {
        hint: 'docs/evidence/verify.md says what each finding means, and what to do.',
      },
    );
  print(`ok: ${logLine(report)}`);
}
