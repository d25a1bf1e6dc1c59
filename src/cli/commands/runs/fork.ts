import { randomUUID } from 'node:crypto';
import { Command, Option } from 'commander';
import { z } from 'zod';
import { fieldErrorsOf, invalidRequest } from '../../../core/field-errors.js';
import type { RepairReport } from '../../../core/log/repair.js';
import { forkRun } from '../../../core/replay/fork.js';
import type { RunView } from '../../../core/runs/run.js';
import { connect } from '../../connect.js';
import { idArgument, json, jsonArgument, jsonOption, misuse } from '../../options.js';
import { plain, print, printJson } from '../../print.js';

const shared = z.object({ json, model: z.string().optional() });
const forkOptions = shared.extend({ at: z.string(), input: z.string().optional(), edits: z.unknown().optional() });

const modelOption = (): Option => new Option('--model <name>', 'the model that is asked from here on');

export const forkCommand = (): Command =>
  new Command('fork')
    .argument('<run>', 'id of a run', idArgument)
    .requiredOption('--at <event>', 'the last event that is taken over: its number or its id')
    .option('--input <text>', 'another input')
    .addOption(
      new Option('--edits <json>', 'other answers of the model or other outcomes of calls, as JSON').argParser(
        jsonArgument,
      ),
    )
    .addOption(modelOption())
    .addOption(jsonOption())
    .action(async (id: string, raw: unknown) => {
      const { json: asJson, at, input, edits, model } = forkOptions.parse(raw);
      const body = forkRun.safeParse({
        at: /^[1-9]\d{0,8}$/.test(at) ? Number(at) : at,
        ...(input === undefined ? {} : { input }),
        ...(edits === undefined ? {} : { edits }),
        ...(model === undefined ? {} : { model }),
      });
      if (!body.success) throw misuse(invalidRequest(fieldErrorsOf(body.error)).message);
      show(await connect().forkRun(id, body.data, { key: randomUUID() }), asJson);
    });

export const retryCommand = (): Command =>
  new Command('retry')
    .argument('<run>', 'id of a failed run', idArgument)
    .addOption(modelOption())
    .addOption(jsonOption())
    .action(async (id: string, raw: unknown) => {
      const { json: asJson, model } = shared.parse(raw);
      show(await connect().retryRun(id, model === undefined ? {} : { model }, { key: randomUUID() }), asJson);
    });

function show(run: RunView, asJson: boolean): void {
  if (asJson) printJson(run);
  else
    print(`run ${run.id} ${run.status}, from event ${run.forkedFrom?.seq ?? '?'} of ${run.forkedFrom?.runId ?? '?'}`);
}

const options = z.object({ json, apply: z.boolean().default(false), accept: z.array(z.string()).default([]) });

export const repairCommand = (): Command =>
  new Command('repair')
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
