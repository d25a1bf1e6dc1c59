import { Command, Option } from 'commander';
import { z } from 'zod';
import { readSettings, type Settings } from '../../config.js';
import type { ProbeRow } from '../../models/providers/probe-model.js';
import type { CliServices } from '../cli-services.js';
import { json, jsonOption } from '../options.js';
import { plain, print, printJson, printTable } from '../print.js';
import { type Finding, failed, ok } from './finding.js';

const options = z.object({ json, cloud: z.boolean().default(false), model: z.string().optional() });

export const doctorCommand = (services: CliServices): Command =>
  new Command('doctor')
    .option(
      '--cloud',
      'checks instead what [DBOS Cloud](operate/dbos-cloud.md) needs of this directory ' + 'before a deploy',
    )
    .addOption(
      new Option(
        '--model <name>',
        'asks a model instead, as the engine does, and says ' +
          '[what works with its server](models/check-a-server.md)',
      ).conflicts('cloud'),
    )
    .addOption(jsonOption())
    .action(async (raw: unknown) => {
      const { json: asJson, cloud, model } = options.parse(raw);
      if (model !== undefined) return await examineModel(services, model, asJson);
      const findings = await examine(services, cloud);
      if (asJson) printJson(findings);
      else for (const finding of findings) printFinding(finding);
      if (findings.some(({ status }) => status === 'fail')) process.exitCode = 1;
    });

async function examine(services: CliServices, cloud: boolean): Promise<readonly Finding[]> {
  // Loaded when needed: the other commands start without an engine or a database.
  const { checkConfig, checkNode, checkPort } = await import('./check-process.js');
  const { checkDataDir, checkTokenFiles } = await import('./check-files.js');
  const { checkDatabase } = await import('./check-database.js');
  const { checkEngine } = await import('./check-engine.js');
  let settings: Settings;
  try {
    settings = readSettings();
  } catch (error) {
    return [checkNode(), failed('settings', error)];
  }
  const first = [checkNode(), ok('settings', 'every variable can be read')];
  if (cloud) {
    const { checkCloud } = await import('./check-cloud.js');
    return [...first, ...(await checkConfig(settings, services)).findings, ...checkCloud(settings, process.cwd())];
  }
  const files = [checkDataDir(settings), checkTokenFiles(settings)];
  const { findings, tools, wanted } = await checkConfig(settings, services);
  const beside = [...(await checkDatabase(settings, tools)), ...(await checkEngine(settings, wanted))];
  return [...first, ...files, ...findings, ...beside, await checkPort(settings)];
}

async function examineModel(services: CliServices, name: string, asJson: boolean): Promise<void> {
  const { checkModel } = await import('./check-model.js');
  const rows = await checkModel(readSettings(), services, name);
  if (asJson) printJson(rows);
  else printRows(rows);
  if (rows.some(({ status }) => status === 'fail')) process.exitCode = 1;
}

const HEADING = ['', 'CHECK', 'MS', 'IN', 'OUT', 'WHAT IT SHOWED'];
const cell = (count: number | null): string => (count === null ? '' : String(count));

function printRows(rows: readonly ProbeRow[]): void {
  const cells = rows.map(({ status, check, ms, inputTokens, outputTokens, detail }) => [
    ...[status, check, cell(ms), cell(inputTokens), cell(outputTokens), detail],
  ]);
  printTable(HEADING, cells);
  for (const { check, wayOut } of rows) if (wayOut !== null) print(`${check}: ${plain(wayOut)}`);
}

function printFinding({ check, status, detail, wayOut }: Finding): void {
  print(`${status.padEnd(4)}  ${check.padEnd(14)}  ${plain(detail)}`);
  if (wayOut !== null) print(`      ${''.padEnd(14)}  ${plain(wayOut)}`);
}
