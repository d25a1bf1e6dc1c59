import { Command } from 'commander';
import { taskDuplicatesCommand } from './duplicates.js';
import { taskCheckCommand } from './task-check.js';
import { taskExportCommand } from './task-export.js';
import { taskImportCommand } from './task-import.js';
import { taskCancelCommand, taskListCommand, taskShowCommand } from './task-list.js';
import { taskNewCommand } from './task-new.js';
import { taskRatesCommand } from './task-rates.js';
import {
  taskDefinitionsCommand,
  taskDeprecateCommand,
  taskDiffCommand,
  taskReadCommand,
  taskRegisterCommand,
} from './task-registry.js';
import { taskRequeueCommand } from './task-requeue.js';
import { taskRunCommand, taskSubmitCommand } from './task-submit.js';
import { taskValidateCommand } from './task-validate.js';

/** Commands on tasks: on files of this machine, and on what a server has. */
export const taskCommand = (): Command =>
  new Command('task')
    .helpCommand(false)
    .addCommand(taskNewCommand())
    .addCommand(taskCheckCommand())
    .addCommand(taskValidateCommand())
    .addCommand(taskDuplicatesCommand())
    .addCommand(taskImportCommand())
    .addCommand(taskExportCommand())
    .addCommand(taskSubmitCommand())
    .addCommand(taskRunCommand())
    .addCommand(taskListCommand())
    .addCommand(taskShowCommand())
    .addCommand(taskCancelCommand())
    .addCommand(taskRequeueCommand())
    .addCommand(taskRatesCommand())
    .addCommand(taskRegisterCommand())
    .addCommand(taskDefinitionsCommand())
    .addCommand(taskReadCommand())
    .addCommand(taskDiffCommand())
    .addCommand(taskDeprecateCommand());
