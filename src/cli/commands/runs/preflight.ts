import { Command } from 'commander';
import { z } from 'zod';
import { readSettings } from '../../../config.js';
import { PREFLIGHT_VERDICTS, type PreflightRun, type PreflightVerdict } from '../../../core/replay/preflight.js';
import type { CliServices } from '../../cli-services.js';
import { json, jsonOption } from '../../options.js';
import { jsonText, plain, print } from '../../print.js';

const options = z.object({ json, all: z.boolean().default(false) });

/** Exit codes: what would be lost is another thing than what should be looked at. */
const EXIT_CODES: { readonly [V in PreflightVerdict]: number } = { safe: 0, needs_attention: 3, would_strand: 1 };
const PROGRESS_EVERY = 50;

export const preflightCommand = (services: CliServices): Command =>
  new Command('preflight')
    .option('--all', 'prints the runs that are safe, too')
    .addOption(jsonOption())
    .action(async (raw: unknown) => {
      const { json: asJson, all } = options.parse(raw);
      const settings = readSettings();
      // Loaded when needed: the other commands start without an engine.
      const { agentsOf, engineSettings } = await import('../server/server-process.js');
      const { preflight } = await import('../../../engine/replay/preflight.js');
      const { config } = await agentsOf(settings, services);
      const counts = { safe: 0, needs_attention: 0, would_strand: 0 };
      for await (const { run, done, total } of preflight({ ...config, ...engineSettings(settings) })) {
        counts[run.verdict]++;
        if (asJson) print(jsonText(run));
        else if (all || run.verdict !== 'safe') for (const line of runText(run)) print(line);
        if (done % PROGRESS_EVERY === 0 && process.stderr.isTTY) process.stderr.write(`\r${done} of ${total} `);
      }
      if (asJson) print(jsonText(counts));
      else print(PREFLIGHT_VERDICTS.map((verdict) => `${counts[verdict]} ${WORDS[verdict]}`).join(', '));
      const worst = PREFLIGHT_VERDICTS.findLast((verdict) => counts[verdict] > 0) ?? 'safe';
      process.exitCode = EXIT_CODES[worst];
    });

const WORDS: { readonly [V in PreflightVerdict]: string } = {
  safe: 'safe',
  needs_attention: 'need attention',
  would_strand: 'would strand',
};

const runText = ({ runId, agent, status, verdict, reasons }: PreflightRun): string[] => [
  `${verdict.replaceAll('_', ' ').padEnd(15)}  ${runId}  ${plain(agent)}  ${status}`,
  ...reasons.map((reason) => `  ${plain(reason)}`),
];
