import { Command } from 'commander';
import { z } from 'zod';
import type { CallOutcome } from '../core/event.js';
import type { Trajectory, TrajectoryStep } from '../core/trajectory.js';
import { connect } from './connect.js';
import { idArgument, json, jsonOption } from './options.js';
import { cut, plain, print, printJson, width } from './print.js';
import { oneLine } from './run-text.js';

const options = z.object({ json });

export const trajectoryCommand = (): Command =>
  new Command('trajectory')
    .description('Print a run as steps: what the model said and asked for, and what came of it.')
    .argument('<run>', 'id of a run', idArgument)
    .addOption(jsonOption())
    .action(async (run: string, raw: unknown) => {
      const trajectory = await connect().getTrajectory(run);
      if (options.parse(raw).json) printJson(trajectory);
      else printTrajectory(trajectory);
    });

function printTrajectory(trajectory: Trajectory): void {
  const { agent, agentVersion, status, totalSteps, usage } = trajectory;
  print(`${plain(agent)} ${plain(agentVersion)}: ${status}, ${totalSteps} steps, ${usage.totalTokens} tokens`);
  printFitting('in', oneLine(trajectory.input));
  for (const step of trajectory.steps) printStep(step);
}

function printStep({ step, action, observation, info }: TrajectoryStep): void {
  const number = String(step).padStart(2);
  if (info.error !== null) printFitting(number, `no answer: ${plain(info.error.message)} (${plain(info.error.code)})`);
  else if (action.text === null && action.calls.length === 0) printFitting(number, '(no answer)');
  if (action.text !== null) printFitting(number, oneLine(action.text));
  for (const call of action.calls) {
    printFitting(number, `${plain(call.tool)} ${oneLine(call.arguments)}`);
    const seen = observation.find((one) => one.callId === call.callId);
    printFitting('', `-> ${seen === undefined ? '(nothing yet)' : outcomeText(seen.outcome)}`);
  }
}

const printFitting = (label: string, text: string): void => print(cut(`${label.padEnd(2)}  ${text}`, width()));

function outcomeText(outcome: CallOutcome): string {
  if (outcome.type === 'output') return oneLine(outcome.output);
  if (outcome.type === 'error') return `error ${outcome.code}: ${plain(outcome.message)}`;
  return `${outcome.why}: ${plain(outcome.message)}`;
}
