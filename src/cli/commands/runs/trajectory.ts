import { Command } from 'commander';
import { z } from 'zod';
import type { ShownTrajectory } from '../../../core/trajectories/trajectory.js';
import type { TrajectoryResult } from '../../../core/trajectories/trajectory-result.js';
import type { TrajectoryStep } from '../../../core/trajectories/trajectory-step.js';
import { connect } from '../../connect.js';
import { idArgument, json, jsonOption } from '../../options.js';
import { cut, plain, print, printJson, width } from '../../print.js';
import { oneLine, outcomeText, printChanged } from '../../run-text.js';

const options = z.object({ json });

export const trajectoryCommand = (): Command =>
  new Command('trajectory')
    .argument('<run>', 'id of a run', idArgument)
    .addOption(jsonOption())
    .action(async (run: string, raw: unknown) => {
      const client = connect();
      let page = await client.getTrajectory(run);
      const asJson = options.parse(raw).json;
      if (!asJson) printHead(page);
      for (;;) {
        if (asJson) printJson(page);
        else page.steps.forEach(printStep);
        if (page.nextStep === null) return;
        page = await client.getTrajectory(run, { after: page.nextStep });
      }
    });

function printHead(trajectory: ShownTrajectory): void {
  const { agent, agentVersion, status, totalSteps, usage, result, qualityScore } = trajectory;
  print(`${plain(agent)} ${plain(agentVersion)}: ${status}, ${totalSteps} steps, ${usage.totalTokens} tokens`);
  const quality = qualityScore === null ? '' : `, quality ${qualityScore.toFixed(2)}`;
  if (result !== null) printFitting('=', `${resultText(result)}${quality}`);
  printFitting('in', oneLine(trajectory.input));
  printChanged(trajectory.integrity);
}

/** A result in words: its type, its reward, and why. */
function resultText(result: TrajectoryResult): string {
  if (result.type === 'success') return result.reward === null ? 'success' : `success, reward ${result.reward}`;
  if (result.type !== 'partial_success') return `${result.type}: ${plain(result.reason)}`;
  const missing = result.missing.length === 0 ? '' : `, missing ${result.missing.map(plain).join(' ')}`;
  return `partial success, reward ${result.reward}${missing}`;
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
