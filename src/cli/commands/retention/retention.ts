import { Command } from 'commander';
import { z } from 'zod';
import { reasonOfRule } from '../../../core/retention/retention.js';
import { connect } from '../../connect.js';
import { json, jsonOption } from '../../options.js';
import { plain, print, printJson } from '../../print.js';

const options = z.object({ json, dryRun: z.boolean().default(false), allTenants: z.boolean().default(false) });

const counted = ({ count, atLeast }: { readonly count: number; readonly atLeast: boolean }): string =>
  `${atLeast ? 'more than ' : ''}${count}`;

export const retentionCommand = (): Command =>
  new Command('retention')
    .option('--dry-run', 'only print what would go')
    .option(
      '--all-tenants',
      'of all tenants, not only of that of the token; takes an operator of the ' +
        '[installation](reference/tokens.md#the-installation), and with `--dry-run` a viewer',
    )
    .addOption(jsonOption())
    .action(async (raw: unknown) => {
      const { json: asJson, dryRun, allTenants } = options.parse(raw);
      const client = connect();
      const [preview, ask] = allTenants
        ? [client.previewAllRetention, client.askForAllRetention]
        : [client.previewRetention, client.askForRetention];
      const view = await (dryRun ? preview() : ask());
      if (asJson) return printJson(view);
      for (const { rule, ...of } of view.runs) {
        const narrowed = [rule.tenant, rule.agent].filter((one) => one !== undefined).map(plain);
        print(`${counted(of)} runs  ${reasonOfRule(rule)}${narrowed.length === 0 ? '' : ` (${narrowed.join(', ')})`}`);
      }
      for (const { what, olderThanDays, ...of } of view.trimmed)
        print(`${counted(of)} ${what}  older than ${olderThanDays} days`);
    });
