import { readFileSync } from 'node:fs';
import { Command, Option } from 'commander';
import { z } from 'zod';
import { HoldfastError } from '../../../core/errors/errors.js';
import type { AgentVersion, EvolutionView } from '../../../core/evolution/version.js';
import { jsonObject, parseJson, tooLargeIn } from '../../../core/json.js';
import { connect } from '../../connect.js';
import { idArgument, json, jsonOption, message, messageOption, misuse, printUnreadable, whole } from '../../options.js';
import { plain, print, printJson, printTable } from '../../print.js';
import { printInterruption, printRun } from '../../run-text.js';

/** Commands on patches of agents. */
export const evolveCommand = (): Command =>
  new Command('evolve')
    .helpCommand(false)
    .addCommand(proposeCommand())
    .addCommand(statusCommand())
    .addCommand(decideCommand())
    .addCommand(rolloutCommand())
    .addCommand(rollbackCommand());

const proposeOptions = z.object({ json, base: z.string().optional() });

const proposeCommand = (): Command =>
  new Command('propose')
    .description('Propose a patch of an agent; it is tried, and then people decide.')
    .argument('<agent>', 'name of an agent')
    .argument('<file>', 'patch, reason, cases, share and measure as JSON')
    .option('--base <hash>', 'definition that the patch starts from; the present one by default')
    .addOption(jsonOption())
    .action(async (agent: string, file: string, raw: unknown) => {
      const asked = proposeOptions.parse(raw);
      const client = connect();
      const base = asked.base ?? (await client.getEvolution(agent)).definitionHash;
      const input = JSON.stringify({ ...proposalIn(file), agent, base });
      const run = await client.startRun({ agent: 'evolve', input });
      if (asked.json) printJson(run);
      else printRun(run);
    });

function proposalIn(file: string): object {
  try {
    return jsonObject.parse(parseJson(readFileSync(file, 'utf8')));
  } catch (cause) {
    throw new HoldfastError(
      'invalid_request',
      `The file ${file} cannot be read as a JSON object${tooLargeIn(cause)}.`,
      {
        cause,
        hint: 'Name a file with `patch` and `reason`, such as {"patch": [...], "reason": "..."}.',
      },
    );
  }
}

/** The newest ones; the API has the others. */
const LISTED = 200;

const shownOptions = z.object({ json });

const statusCommand = (): Command =>
  new Command('status')
    .description('Show the versions that patches made, of one agent or of all.')
    .argument('[agent]', 'name of an agent; of all by default')
    .addOption(jsonOption())
    .action(async (agent: string | undefined, raw: unknown) => {
      const { json: asJson } = shownOptions.parse(raw);
      if (agent !== undefined) return show(await connect().getEvolution(agent), asJson);
      const page = await connect().listVersions({ limit: LISTED });
      if (asJson) return printJson(page);
      printTable(
        ['AGENT', ...COLUMNS],
        page.items.map((one) => [one.agent, ...rowOf(one)]),
      );
      printUnreadable(page.unreadable);
    });

const VERDICTS = ['approve', 'reject'] as const;
const decideOptions = z.object({ json, message });

const decideCommand = (): Command =>
  new Command('decide')
    .description('Decide on a patch that was tried.')
    .argument('<run>', 'run that proposed it', idArgument)
    .argument('<verdict>', 'approve or reject')
    .addOption(messageOption('why'))
    .addOption(jsonOption())
    .action(async (runId: string, said: string, raw: unknown) => {
      const asked = decideOptions.parse(raw);
      const verdict = VERDICTS.find((one) => one === said);
      if (verdict === undefined) throw misuse('The verdict is approve or reject.');
      const client = connect();
      const { items } = await client.listInterruptions({ run: runId, status: 'pending', limit: 10 });
      const item = items.find(({ tool }) => tool === 'apply_patch');
      if (item === undefined)
        throw new HoldfastError('interruption_unknown', `The run ${runId} waits for no decision on a patch.`);
      const settled = await client.decide(item.id, { verdict, digest: item.digest, message: asked.message });
      if (asked.json) printJson(settled);
      else printInterruption(settled);
    });

const rolloutOptions = z.object({ json, share: z.number() });

const rolloutCommand = (): Command =>
  new Command('rollout')
    .description('Give the live version of an agent to another share of its new runs.')
    .argument('<agent>', 'name of an agent')
    .addOption(
      new Option('--share <percent>', 'percent of new runs, 1 to 100').argParser(whole(1, 100)).makeOptionMandatory(),
    )
    .addOption(jsonOption())
    .action(async (agent: string, raw: unknown) => {
      const { json: asJson, share } = rolloutOptions.parse(raw);
      show(await connect().rolloutAgent(agent, { share }), asJson);
    });

const rollbackOptions = z.object({ json, message: z.string().optional() });

const rollbackCommand = (): Command =>
  new Command('rollback')
    .description('Take the live version of an agent back.')
    .argument('<agent>', 'name of an agent')
    .addOption(messageOption('why; needed'))
    .addOption(jsonOption())
    .action(async (agent: string, raw: unknown) => {
      const { json: asJson, message: reason } = rollbackOptions.parse(raw);
      if (reason === undefined) throw misuse('The option --message is needed: it says why.');
      show(await connect().rollbackAgent(agent, { reason }), asJson);
    });

function show(view: EvolutionView, asJson: boolean): void {
  if (asJson) {
    printJson(view);
    return;
  }
  print(`agent    ${plain(view.agent)}`);
  print(`hash     ${view.definitionHash}`);
  printTable([...COLUMNS], view.versions.map(rowOf));
  printUnreadable(view.unreadable);
}

const COLUMNS = ['VERSION', 'STATUS', 'SHARE', 'COMPLETED', 'PROPOSED BY', 'SINCE'];

const rowOf = (one: AgentVersion): string[] => [
  ...[one.version, one.status, `${one.share} %`, `${one.completed} of ${one.ended}`, one.id],
  one.endedAt ?? one.appliedAt ?? one.createdAt,
];
