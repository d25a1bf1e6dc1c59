import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Argument, Command } from 'commander';
import { shippedScripts } from '../../help.js';
import { printAsIs } from '../../print.js';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

export const completionCommand = (): Command =>
  new Command('completion')
    .description('Print the script that makes a shell complete commands, options, ids and names of agents.')
    .addArgument(new Argument('<shell>', 'your shell').choices(SHELLS))
    .action((shell: string) => printAsIs(readFileSync(join(shippedScripts(), `holdfast.${shell}`), 'utf8').trimEnd()));
