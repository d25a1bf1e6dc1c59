import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { z } from 'zod';
import type { SubjectErasureView } from '../../../core/retention/erasure.js';
import type { Client } from '../../client.js';
import { connect } from '../../connect.js';
import { idArgument, json, jsonOption, messageOption, misuse } from '../../options.js';
import { print, printJson } from '../../print.js';

const LOOK_EVERY_MS = 1000;

const options = z.object({
  json,
  message: z.string(),
  family: z.boolean().default(false),
  subject: z.string().optional(),
  cancel: z.boolean().default(false),
  dryRun: z.boolean().default(false),
});
type Options = z.infer<typeof options>;

export const eraseCommand = (): Command =>
  new Command('erase')
    .argument('[run]', 'id of a run', idArgument)
    .addOption(messageOption('why; kept, so it should name no person').makeOptionMandatory())
    .option('--family', 'also the runs below it, and forks of any of them')
    .option('--subject <subject>', 'all runs that were started about this one, instead of the id of a run')
    .option('--cancel', 'cancel runs of the subject that are not over')
    .option('--dry-run', 'only print what of the subject would be erased')
    .addOption(jsonOption())
    .action(async (id: string | undefined, raw: unknown) => {
      const asked = options.parse(raw);
      const { subject, family, cancel, dryRun } = asked;
      if (id !== undefined && subject === undefined) {
        if (cancel || dryRun) throw misuse('--cancel and --dry-run go with --subject.');
        return eraseRun(connect(), id, asked);
      }
      if (id !== undefined || subject === undefined) throw misuse('Give the id of a run, or --subject.');
      if (family) throw misuse('--family goes with the id of a run.');
      return eraseSubject(connect(), subject, asked);
    });

async function eraseRun(client: Client, id: string, { json: asJson, message: reason, family }: Options): Promise<void> {
  const erasure = await client.eraseRun(id, { reason, family });
  if (asJson) return printJson(erasure);
  for (const one of erasure.erased) print(`run ${one} erased`);
  if (erasure.erased.length === 0) print(`run ${id} was erased at ${erasure.erasedAt}`);
  for (const { runId, why } of erasure.copies) print(`copies in ${runId} (${why})`);
  printExports(erasure.exports);
}

/** Waits until it is done; who breaks that off stops nothing. */
async function eraseSubject(client: Client, subject: string, asked: Options): Promise<void> {
  const { message: reason, cancel, dryRun } = asked;
  let view = await client.eraseSubject({ subject, reason, cancel, dryRun });
  while (view.status === 'working' && view.id !== null) {
    if (!asked.json) print(textOf(view));
    await sleep(LOOK_EVERY_MS);
    view = await client.getSubjectErasure(view.id);
  }
  if (asked.json) return printJson(view);
  print(textOf(view));
  printExports(view.exports);
}

const printExports = (ids: readonly string[]): void => {
  for (const id of ids) print(`it is in the files of export ${id}`);
};

function textOf({ id, status, erased, left, notOver }: SubjectErasureView): string {
  const waits = notOver.length === 0 ? '' : `, not over: ${notOver.join(', ')}`;
  return status === 'dry_run'
    ? `${left} runs would be erased${waits}`
    : `${id} ${status}: ${erased} runs erased, ${left} left${waits}`;
}
