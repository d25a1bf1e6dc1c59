import { randomUUID } from 'node:crypto';
import { Command, Option } from 'commander';
import { z } from 'zod';
import { fieldErrorsOf, invalidRequest } from '../../../core/field-errors.js';
import { forkRun } from '../../../core/replay/fork.js';
import type { RunView } from '../../../core/runs/run.js';
import { connect } from '../../connect.js';
import { idArgument, json, jsonArgument, jsonOption, misuse } from '../../options.js';
import { print, printJson } from '../../print.js';

const shared = z.object({ json, model: z.string().optional() });
const forkOptions = shared.extend({ at: z.string(), input: z.string().optional(), edits: z.unknown().optional() });

const modelOption = (): Option => new Option('--model <name>', 'the model that is asked from here on');

export const forkCommand = (): Command =>
  new Command('fork')
    .description('Start a run from an event of another one, with edits.')
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
    .description('Go on from the last good point of a failed run, in a new run.')
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
