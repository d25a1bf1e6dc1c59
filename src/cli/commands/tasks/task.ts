import { Command } from 'commander';
import { z } from 'zod';
import { connect } from '../../connect.js';
import { idArgument, json, jsonOption } from '../../options.js';
import { print, printJson } from '../../print.js';
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

const options = z.object({ json });

export const taskRequeueCommand = (): Command =>
  new Command('requeue')
    .description('Give a task new attempts that failed by an error and that none follows.')
    .argument('<task>', 'id of a task', idArgument)
    .addOption(jsonOption())
    .action(async (id: string, raw: unknown) => {
      const client = connect();
      const { attempts } = await client.getTask(id);
      const task = await client.requeueTask(id, { attempts });
      if (options.parse(raw).json) return printJson(task);
      print(`task ${task.id} ${task.status}, after ${attempts === 1 ? '1 attempt' : `${attempts} attempts`}`);
    });
