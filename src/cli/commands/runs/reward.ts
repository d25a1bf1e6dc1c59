import { Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { connect } from '../../connect.js';
import { filled, idArgument, json, jsonOption, numberOf } from '../../options.js';
import { plain, print, printJson } from '../../print.js';

const options = z.object({
  json,
  passed: z.boolean().optional(),
  failed: z.boolean().optional(),
  reason: z.string().optional(),
  signal: z.record(z.string(), z.number()).default({}),
});

function addSignal(text: string, before: Record<string, number> = {}): Record<string, number> {
  const at = text.lastIndexOf('=');
  if (at < 1) throw new InvalidArgumentError('Expected a name and a number, such as tests=1.');
  return { ...before, [text.slice(0, at)]: numberOf(text.slice(at + 1)) };
}

export const rewardCommand = (): Command =>
  new Command('reward')
    .argument('<run>', 'id of a run', idArgument)
    .argument('<reward>', '1 or more: done; between 0 and 1: a part; 0 or less: not done', numberOf)
    .addOption(
      new Option('--signal <name=number>', 'what the reward is made of, as `name=number`; may be repeated').argParser(
        addSignal,
      ),
    )
    .addOption(new Option('--passed', 'a verifier says that the job was done').conflicts('failed'))
    .option('--failed', 'a verifier says that it was not')
    .addOption(new Option('--reason <text>', 'why').argParser(filled))
    .addOption(jsonOption())
    .action(async (run: string, reward: number, raw: unknown) => {
      const { json: asJson, passed, failed, reason, signal } = options.parse(raw);
      const verified = passed === true || failed === true ? { verificationPassed: passed === true } : {};
      const view = await connect().rewardRun(run, { reward, signals: signal, ...verified, ...(reason && { reason }) });
      if (asJson) printJson(view);
      else print(`${plain(view.runId)}: reward ${view.reward}, version ${view.version}`);
    });
