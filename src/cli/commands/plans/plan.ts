import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { z } from 'zod';
import { HoldfastError } from '../../../core/errors/errors.js';
import { type JsonObject, jsonObject, parseJson, tooLargeIn } from '../../../core/json.js';
import type { PlanCheck, PlanView } from '../../../core/plans/plan-view.js';
import { connect } from '../../connect.js';
import { EXIT_CODES } from '../../exit-codes.js';
import { json, jsonOption } from '../../options.js';
import { plain, print, printJson, printTable } from '../../print.js';
import { runCommand } from '../runs/run.js';

/** Commands on plans: graphs of calls that no model chooses. */
export const planCommand = (): Command =>
  new Command('plan')
    .helpCommand(false)
    .addCommand(planShowCommand())
    .addCommand(planCheckCommand())
    .addCommand(runCommand('plan').description('Start a run of a plan.'));

const showOptions = z.object({ json, mermaid: z.boolean().default(false) });

const planShowCommand = (): Command =>
  new Command('show')
    .description('Show a plan: its nodes, and everything that it can need.')
    .argument('<plan>', 'name of a plan')
    .option('--mermaid', 'prints its graph for Mermaid')
    .addOption(jsonOption())
    .action(async (name: string, raw: unknown) => {
      const asked = showOptions.parse(raw);
      const plan = await connect().getPlan(name);
      if (asked.json) return printJson(plan);
      if (asked.mermaid) return print(plan.mermaid);
      print(`plan     ${plain(plan.name)} ${plain(plan.version)}`);
      print(`hash     ${plan.definitionHash}`);
      printReading(plan);
    });

const checkOptions = z.object({ json });

const planCheckCommand = (): Command =>
  new Command('check')
    .description('Check a plan of a file in the place of a plan of the server; exit code 1 if something is wrong.')
    .argument('<plan>', 'name of a plan, whose tools and grants count')
    .argument('<file>', 'a plan as JSON')
    .addOption(jsonOption())
    .action(async (name: string, file: string, raw: unknown) => {
      const { json: asJson } = checkOptions.parse(raw);
      const checked = await connect().checkPlan(name, { plan: planIn(file) });
      if (asJson) printJson(checked);
      else printCheck(checked);
      if (!checked.ok) process.exitCode = EXIT_CODES.failed.code;
    });

function planIn(file: string): JsonObject {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new HoldfastError('invalid_request', `The file ${file} cannot be read.`, {
      cause,
      hint: 'Name a file that exists.',
    });
  }
  try {
    return jsonObject.parse(parseJson(text));
  } catch (cause) {
    throw new HoldfastError('malformed_json', `The file ${file} is no JSON object${tooLargeIn(cause)}.`, { cause });
  }
}

function printCheck({ ok, problems, read }: PlanCheck): void {
  for (const { pointer, detail } of problems) print(`wrong    ${plain(pointer || 'all of it')}: ${plain(detail)}`);
  if (read !== null) printReading(read);
  if (ok) print('right');
}

function printReading({ nodes, capabilities }: Pick<PlanView, 'nodes' | 'capabilities'>): void {
  printTable(
    ['NODE', 'TYPE', 'CALLS', 'AFTER'],
    nodes.map(({ id, type, tool, needs }) => [id, type, tool ?? '', needs.join(', ')]),
  );
  for (const { capability, nodes: of, passedOn } of capabilities)
    print(`needs    ${plain(capability)}${passedOn ? ' (passed on)' : ''}: ${of.join(', ')}`);
}
