import { Command } from 'commander';
import { taskCheckCommand } from './task-check.js';
import { taskNewCommand } from './task-new.js';

/** Commands on tasks: on files of this machine, and on what a server has. */
export const taskCommand = (): Command =>
  new Command('task')
    .description('Make, check and convert tasks.')
    .helpCommand(false)
    .addCommand(taskNewCommand())
    .addCommand(taskCheckCommand());
