import { Command, Option } from 'commander';
import { z } from 'zod';
import { connect } from '../../connect.js';
import { idArgument, json, jsonOption, limit, limitOption, printMore, whole } from '../../options.js';
import { printJson, printTable } from '../../print.js';

const options = z.object({ json, limit, after: z.number().default(0) });

export const chargesCommand = (): Command =>
  new Command('charges')
    .argument('<run>', 'id of a run', idArgument)
    .addOption(new Option('--after <n>', 'leaves the first so many out').argParser(whole(0, 999_999_999)))
    .addOption(limitOption())
    .addOption(jsonOption())
    .action(async (run: string, raw: unknown) => {
      const asked = options.parse(raw);
      const page = await connect().listCharges(run, { limit: asked.limit, cursor: String(asked.after) });
      if (asked.json) return printJson(page);
      printTable(
        ['TURN', 'MODEL', 'INPUT', 'CACHED', 'OUTPUT', 'USD', 'STATE', 'PRICE'],
        page.items.map(({ turn, model, usage, costUsd, state, price }) => [
          ...[String(turn), model, count(usage?.inputTokens), count(usage?.cachedInputTokens)],
          ...[count(usage?.outputTokens), costUsd ?? 'unknown', state],
          price === null ? '' : `${price.source} ${price.version}`,
        ]),
      );
      printMore(page, '--after');
    });

const count = (tokens: number | undefined): string => (tokens === undefined ? '' : String(tokens));
