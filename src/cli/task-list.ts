import { Command, Option } from 'commander';
import { z } from 'zod';
import { TASK_STATUSES, taskFilter } from '../core/task.js';
import { DIFFICULTIES } from '../core/task-definition.js';
import { TRAJECTORY_RESULTS } from '../core/trajectory-result.js';
import { connect } from './connect.js';
import { idArgument, json, jsonOption, limit, limitOption } from './options.js';
import { print, printJson, printTable } from './print.js';
import { printTask } from './task-text.js';

const listed = z.object({ ...taskFilter.shape, json, limit, cursor: z.string().optional() });
const shown = z.object({ json });

export const taskListCommand = (): Command =>
  new Command('list')
    .description('List tasks, newest first.')
    .addOption(new Option('--status <status>', 'only tasks of this status').choices(TASK_STATUSES))
    .option('--name <name>', 'only tasks of this definition')
    .option('--category <category>', 'only tasks of this category')
    .addOption(new Option('--difficulty <difficulty>', 'only tasks of this difficulty').choices(DIFFICULTIES))
    .option('--agent <agent>', 'only tasks of this agent')
    .option('--tag <tag>', 'only tasks with this tag')
    .addOption(new Option('--result <result>', 'only tasks of this result').choices(TRAJECTORY_RESULTS))
    .option('--cursor <cursor>', 'where the page before ended')
    .addOption(limitOption())
    .addOption(jsonOption())
    .action(async (raw: unknown) => {
      const { json: asJson, ...asked } = listed.parse(raw);
      const page = await connect().listTasks(asked);
      if (asJson) return printJson(page);
      printTable(
        ['TASK', 'STATUS', 'RESULT', 'REWARD', 'NAME', 'VERSION', 'AGENT', 'CREATED'],
        page.items.map((task) => [
          ...[task.id, task.status, task.result?.type ?? '', task.reward === null ? '' : String(task.reward)],
          ...[task.name, task.version, task.agent, task.createdAt],
        ]),
      );
      if (page.nextCursor !== null) print(`There are more; go on with --cursor ${page.nextCursor}.`);
    });

export const taskShowCommand = (): Command =>
  new Command('show')
    .description('Show a task: its status, result and reward.')
    .argument('<task>', 'id of a task', idArgument)
    .addOption(jsonOption())
    .action(async (id: string, raw: unknown) => {
      const task = await connect().getTask(id);
      if (shown.parse(raw).json) printJson(task);
      else printTask(task);
    });

export const taskCancelCommand = (): Command =>
  new Command('cancel')
    .description('Cancel a task with its run.')
    .argument('<task>', 'id of a task', idArgument)
    .addOption(jsonOption())
    .action(async (id: string, raw: unknown) => {
      const task = await connect().cancelTask(id);
      if (shown.parse(raw).json) return printJson(task);
      print(
        task.status === 'cancelled' ? `task ${task.id} cancelled` : `task ${task.id} ${task.status}, asked to stop`,
      );
    });
