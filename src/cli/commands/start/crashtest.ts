import { closeSync, openSync, writeFileSync } from 'node:fs';
import { Command, Option } from 'commander';
import { z } from 'zod';
import { codeOrText } from '../../../core/errors/errors.js';
import { CRASH_LIFE } from '../../crashtest/crash-life.js';
import type { CrashTestReport, Tried } from '../../crashtest/crash-test.js';
import { EXIT_CODES } from '../../exit-codes.js';
import { json, jsonOption, misuse, whole } from '../../options.js';
import { plain, print, printJson, printNote, printTable } from '../../print.js';

const options = z.object({
  json,
  kills: z.number().default(30),
  timeout: z.number().default(60),
  junit: z.string().optional(),
});

const MOST_KILLS = 10_000;
const LONGEST_SECONDS = 3600;

export const crashTestCommand = (): Command =>
  new Command('crashtest')
    .argument('<agent>', 'name of an agent of the configuration')
    .argument('[input]', 'input of the run', 'go')
    .addOption(
      new Option('--kills <n>', 'how many moments are tried at most; 30 without it').argParser(whole(1, MOST_KILLS)),
    )
    .addOption(
      new Option('--timeout <seconds>', 'how long a run may take; 60 without it').argParser(whole(1, LONGEST_SECONDS)),
    )
    .option('--junit <file>', 'write the results as JUnit XML too')
    .addOption(jsonOption())
    .action(async (agent: string, input: string, raw: unknown) => {
      const { json: asJson, kills, timeout, junit } = options.parse(raw);
      if (junit !== undefined) assertWritable(junit);
      const { crashTest } = await import('../../crashtest/crash-test.js');
      const program = [process.execPath, ...process.execArgv, process.argv[1] ?? '', CRASH_LIFE];
      const report = await crashTest({ agent, input, kills, timeoutMs: timeout * 1000 }, program, (done, of, tried) => {
        if (!asJson && tried !== null) printNote(`${done} of ${of}: ${tried.name}: ${tried.verdict}`);
      });
      const { isFailure } = await import('../../crashtest/judge-life.js');
      const failures = report.tried.filter(({ verdict }) => isFailure(verdict));
      if (junit !== undefined)
        writeFileSync(
          junit,
          junitOf(report, (one) => isFailure(one.verdict)),
        );
      if (asJson) printJson(report);
      else printReport(report, failures.length);
      if (failures.length > 0) process.exitCode = EXIT_CODES.failed.code;
    });

/** What is found out in minutes is not lost for want of a folder. */
function assertWritable(file: string): void {
  try {
    closeSync(openSync(file, 'a'));
  } catch (cause) {
    const why = codeOrText(cause);
    throw misuse(`--junit: ${file} cannot be written (${why}).`);
  }
}

function printReport({ agent, end, bodies, statements, tried }: CrashTestReport, failures: number): void {
  const rows = tried.map(({ name, what, verdict, detail }) => [name, verdict, plain(detail === '' ? what : detail)]);
  printTable(['KILLED', 'VERDICT', 'WHAT'], rows);
  print('');
  print(
    `${plain(agent)}: ${end} without a crash, with ${bodies} calls and ${statements} durable statements. ` +
      `Killed ${tried.length} times, ${failures} failures.`,
  );
}

function junitOf({ agent, tried }: CrashTestReport, fails: (one: Tried) => boolean): string {
  const cases = tried.map((one) => {
    const open = `  <testcase classname="${xml(agent)}" name="${xml(`killed ${one.name}`)}" time="${one.ms / 1000}"`;
    const said = xml(`${one.verdict}: ${one.detail}`);
    return fails(one) ? `${open}>\n    <failure message="${said}"/>\n  </testcase>` : `${open}/>`;
  });
  const failures = tried.filter(fails).length;
  const head = `<testsuite name="crashtest" tests="${tried.length}" failures="${failures}">`;
  return ['<?xml version="1.0" encoding="UTF-8"?>', head, ...cases, '</testsuite>', ''].join('\n');
}

const ENTITIES: { readonly [character: string]: string } = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Text for an attribute. Characters that XML cannot hold are left out. */
const xml = (text: string): string =>
  plain(text)
    .replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? '')
    .replaceAll(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '');
