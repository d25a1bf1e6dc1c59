import { Command, Option } from 'commander';
import { z } from 'zod';
import type { DecisionRequest } from '../../../core/interruptions/interruption.js';
import { type JsonValue, jsonObject } from '../../../core/json.js';
import { connect } from '../../connect.js';
import {
  idArgument,
  json,
  jsonArgument,
  jsonObjectOption,
  jsonOption,
  message,
  messageOption,
  usdOption,
} from '../../options.js';
import { printJson } from '../../print.js';
import { printInterruption } from '../../run-text.js';

const options = z.object({ json, message });

async function decide(id: string, decision: DecisionRequest, asJson: boolean): Promise<void> {
  const settled = await connect().decide(id, decision);
  if (asJson) printJson(settled);
  else printInterruption(settled);
}

const command = (name: string): Command =>
  new Command(name).argument('<id>', 'id of an interruption, as `holdfast inbox` lists it', idArgument);

const approval = options.extend({
  arguments: jsonObject.optional(),
  always: z.literal(true).optional(),
  scope: z.array(z.string()).optional(),
  budget: z.string().optional(),
});

export const approveCommand = (): Command =>
  command('approve')
    .addOption(
      new Option(
        '--arguments <json>',
        "what the tool gets in place of the model's arguments: a JSON object, or `@` and the " +
          'name of a file that holds one',
      ).argParser(jsonObjectOption),
    )
    .option('--always', 'also later calls of this tool in this run that need what this one needs')
    .addOption(
      new Option(
        '--scope <capability...>',
        'also later calls that need what these capabilities cover, written like grants; takes ' +
          'several, and not with `--always`',
      ).conflicts('always'),
    )
    .addOption(
      new Option(
        '--budget <usd>',
        'the new limit of a [budget](models/budgets.md#without-room), in dollars: where a run waits ' +
          'for one, and only there',
      ).argParser(usdOption),
    )
    .addOption(messageOption('kept with the decision'))
    .addOption(jsonOption())
    .action(async (id: string, raw: unknown) => {
      const { json: asJson, scope, always, budget, ...rest } = approval.parse(raw);
      const held = scope === undefined ? always : { scope };
      await decide(
        id,
        { verdict: 'approve', ...rest, ...(held && { always: held }), ...(budget && { budget: { usd: budget } }) },
        asJson,
      );
    });

export const rejectCommand = (): Command =>
  command('reject')
    .addOption(messageOption('why; the model reads it').makeOptionMandatory())
    .addOption(jsonOption())
    .action(async (id: string, raw: unknown) => {
      const { json: asJson, ...rest } = options.parse(raw);
      await decide(id, { verdict: 'reject', ...rest }, asJson);
    });

export const answerCommand = (): Command =>
  command('answer')
    .argument('<json>', 'the answer as JSON', jsonArgument)
    .addOption(messageOption('kept with the decision'))
    .addOption(jsonOption())
    .action(async (id: string, value: JsonValue, raw: unknown) => {
      const { json: asJson, ...rest } = options.parse(raw);
      await decide(id, { verdict: 'answer', value, ...rest }, asJson);
    });
