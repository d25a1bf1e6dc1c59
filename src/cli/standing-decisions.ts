import { Command, Option } from 'commander';
import { z } from 'zod';
import { connect } from './connect.js';
import { idArgument, json, jsonOption } from './options.js';
import { print, printJson, printTable } from './print.js';

const options = z.object({ json, revoke: z.string().optional() });

export const standingDecisionsCommand = (): Command =>
  new Command('standing-decisions')
    .description('List the approvals of a run that hold for later calls, or revoke one.')
    .argument('<run>', 'id of a run', idArgument)
    .addOption(
      new Option('--revoke <id>', 'revoke this one: from the next segment on, calls ask again').argParser(idArgument),
    )
    .addOption(jsonOption())
    .action(async (run: string, raw: unknown) => {
      const { json: asJson, revoke } = options.parse(raw);
      const client = connect();
      const found =
        revoke === undefined
          ? await client.listStandingDecisions(run)
          : [await client.revokeStandingDecision(run, revoke)];
      if (asJson) return printJson(revoke === undefined ? { items: found } : found[0]);
      if (found.length === 0) return print('No approval of this run holds for later calls.');
      const rows = found.map(({ id, tool, actor, revokedBy, scope }) => [
        ...[id, revokedBy === null ? 'holds' : `revoked by ${revokedBy}`, tool, actor],
        scope.join(', '),
      ]);
      printTable(['ID', 'STATUS', 'TOOL', 'BY', 'SCOPE'], rows);
    });
