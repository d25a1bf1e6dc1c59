import { Command, Option } from 'commander';
import { z } from 'zod';
import type { RepairReport } from '../../../core/log/repair.js';
import { connect } from '../../connect.js';
import { idArgument, json, jsonOption } from '../../options.js';
import { plain, print, printJson } from '../../print.js';

const options = z.object({ json, apply: z.boolean().default(false), accept: z.array(z.string()).default([]) });

export const repairCommand = (): Command =>
  new Command('repair')
    .description('Say what a broken log has lost; with --apply, go on from its last whole event in a new run.')
    .argument('<run>', 'id of a run whose log does not verify', idArgument)
    .option(
      '--apply',
      'stops the run if it is not over, and makes the one that goes on; without it nothing ' + 'is changed',
    )
    .addOption(
      new Option('--accept <call>', 'a lost call that may happen once more, by its id; may be repeated').argParser(
        (id: string, before: readonly string[] = []) => [...before, idArgument(id)],
      ),
    )
    .addOption(jsonOption())
    .action(async (id: string, raw: unknown) => {
      const { json: asJson, apply, accept } = options.parse(raw);
      const report = await connect().repairRun(id, { apply, accept });
      if (asJson) printJson(report);
      else printReport(report);
    });

function printReport({ runId, status, broken, valid, lost, repairedBy }: RepairReport): void {
  print(`broken    event ${broken.seq}, ${broken.invariant}: ${plain(broken.what)}`);
  print(`whole     ${valid === 0 ? 'none' : `events 1 to ${valid}`} of ${runId}, which is ${status}`);
  print(`lost      ${lost.events} events, ${lost.calls.length} calls, ${lost.decisions.length} decisions`);
  for (const { seq, kind, at, whole } of lost.readable)
    print(`  event   ${seq} ${plain(kind)} ${plain(at)}${whole ? '' : ', changed'}`);
  for (const { callId, tool, effect, outcome, unsafe } of lost.calls)
    print(
      `  call    ${plain(tool)} (${plain(callId)}), ${effect}: ${outcome ?? 'may have happened'}${unsafe ? '; to be accepted' : ''}`,
    );
  for (const { interruptionId, verdict, actor } of lost.decisions)
    print(`  said    ${verdict} on ${plain(interruptionId)} by ${plain(actor)}`);
  print(repairedBy === null ? 'nothing was changed: --apply goes on in a new run' : `goes on   in ${repairedBy}`);
}
