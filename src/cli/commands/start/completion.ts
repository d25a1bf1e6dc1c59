import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Argument, Command } from 'commander';
import { shippedScripts } from '../../help.js';
import { printAsIs } from '../../print.js';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

export const completionCommand = (): Command =>
  new Command('completion')
    .addArgument(new Argument('<shell>', 'your shell').choices(SHELLS))
    .action((shell: string) => printAsIs(readFileSync(join(shippedScripts(), `holdfast.${shell}`), 'utf8').trimEnd()));
