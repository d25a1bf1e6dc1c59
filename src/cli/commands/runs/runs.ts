import { Command, Option } from 'commander';
import { z } from 'zod';
import { RUN_STATUSES, runStatus } from '../../../core/runs/run.js';
import { connect } from '../../connect.js';
import { cursor, cursorOption, json, jsonOption, limit, limitOption, printMore } from '../../options.js';
import { printJson, printTable } from '../../print.js';

const options = z.object({
  json,
  limit,
  cursor,
  status: runStatus.optional(),
  agent: z.string().optional(),
  parent: z.string().optional(),
});

export const runsCommand = (): Command =>
  new Command('runs')
    .addOption(new Option('--status <status>', 'only runs of this status').choices(RUN_STATUSES))
    .option('--agent <agent>', 'only runs of this agent')
    .option('--parent <run>', 'only runs that calls of this run started')
    .addOption(cursorOption())
    .addOption(limitOption())
    .addOption(jsonOption())
    .action(async (raw: unknown) => {
      const { json: asJson, ...filter } = options.parse(raw);
      const page = await connect().listRuns(filter);
      if (asJson) return printJson(page);
      printTable(
        ['RUN', 'STATUS', 'AGENT', 'TURNS', 'CREATED', 'ERROR'],
        page.items.map((run) => [
          run.id,
          run.status,
          run.agent,
          String(run.turns),
          run.createdAt,
          run.error?.code ?? '',
        ]),
      );
      printMore(page);
    });
