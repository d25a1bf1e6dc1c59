import { Command, Option } from 'commander';
import { z } from 'zod';
import type { BenchReport } from '../../bench/report.js';
import type { CliServices } from '../../cli-services.js';
import { EXIT_CODES } from '../../exit-codes.js';
import { json, jsonOption, whole } from '../../options.js';
import { print, printJson, printNote, printTable } from '../../print.js';

const options = z.object({
  json,
  ...{ runs: z.number(), concurrency: z.number(), seconds: z.number() },
  database: z.string().optional(),
});

const MOST = { runs: 10_000, concurrency: 100, seconds: 3600 };
/** Shares of the runs after which it says how far it is. */
const TOLD = 10;

export const benchCommand = (services: CliServices): Command =>
  new Command('bench')
    .argument('<agent>', 'name of an agent of the configuration')
    .argument('[input]', 'input of each run', 'go')
    .addOption(new Option('--runs <n>', 'how many runs at most').argParser(whole(1, MOST.runs)).default(50))
    .addOption(
      new Option('--concurrency <n>', 'how many runs at once').argParser(whole(1, MOST.concurrency)).default(1),
    )
    .addOption(
      new Option('--seconds <n>', 'after so long it begins no run any more')
        .argParser(whole(1, MOST.seconds))
        .default(60),
    )
    .option('--database <url>', 'a PostgreSQL, which keeps the runs; without it an embedded one in a temporary folder')
    .addOption(jsonOption())
    .action(async (agent: string, input: string, raw: unknown) => {
      const { json: asJson, database, ...bounds } = options.parse(raw);
      const { bench } = await import('../../bench/bench.js');
      const every = Math.max(1, Math.ceil(bounds.runs / TOLD));
      const report = await bench({ agent, input, databaseUrl: database ?? null, ...bounds }, services, (done, of) => {
        if (!asJson && done % every === 0) printNote(`${done} of ${of}`);
      });
      if (asJson) printJson(report);
      else printReport(report);
      if (report.ends['completed'] !== report.runs) process.exitCode = EXIT_CODES.failed.code;
    });

function printReport(report: BenchReport): void {
  const { runMs, stepOverheadMs } = report;
  printTable(
    ['', 'P50', 'P95'],
    [
      ['A run', `${runMs.p50} ms`, `${runMs.p95} ms`],
      ['A step, without model and tool', `${stepOverheadMs.p50} ms`, `${stepOverheadMs.p95} ms`],
    ],
  );
  print('');
  const ends = Object.entries(report.ends).map(([status, count]) => `${count} ${status}`);
  printTable(
    ['RUNS', 'RUNS/S', 'STEPS', 'STEPS/S', 'BYTES/RUN', 'AT ONCE', 'DATABASE'],
    [
      [
        ...[ends.join(', '), String(report.runsPerSecond), String(report.steps), String(report.stepsPerSecond)],
        ...[String(report.bytesPerRun), String(report.concurrency), report.database],
      ],
    ],
  );
}
