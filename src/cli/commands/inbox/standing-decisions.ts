import { Command, Option } from 'commander';
import { z } from 'zod';
import type { StandingDecisionView } from '../../../core/interruptions/standing.js';
import { connect } from '../../connect.js';
import { cursor, cursorOption, idArgument, json, jsonOption, limit, limitOption, printMore } from '../../options.js';
import { print, printJson, printTable } from '../../print.js';

const options = z.object({ json, limit, cursor, revoke: z.string().optional() });

export const standingDecisionsCommand = (): Command =>
  new Command('standing-decisions')
    .argument('<run>', 'id of a run', idArgument)
    .addOption(
      new Option('--revoke <id>', 'revoke this one: from the next segment on, calls ask again').argParser(idArgument),
    )
    .addOption(cursorOption())
    .addOption(limitOption())
    .addOption(jsonOption())
    .action(async (run: string, raw: unknown) => {
      const { json: asJson, limit: most, cursor: from, revoke } = options.parse(raw);
      const client = connect();
      if (revoke !== undefined) {
        const revoked = await client.revokeStandingDecision(run, revoke);
        return asJson ? printJson(revoked) : table([revoked]);
      }
      const page = await client.listStandingDecisions(run, { limit: most, cursor: from });
      if (asJson) return printJson(page);
      if (page.items.length > 0) table(page.items);
      else if (page.unreadable === undefined) print('No approval of this run holds for later calls.');
      return printMore(page);
    });

const table = (found: readonly StandingDecisionView[]): void =>
  printTable(
    ['ID', 'STATUS', 'TOOL', 'BY', 'SCOPE'],
    found.map(({ id, tool, actor, revokedBy, scope }) => [
      ...[id, revokedBy === null ? 'holds' : `revoked by ${revokedBy}`, tool, actor],
      scope.join(', '),
    ]),
  );
