import { Command, Option } from 'commander';
import { z } from 'zod';
import { TASK_STATUSES, type TaskView, taskFilter } from '../../../core/tasks/task.js';
import { DIFFICULTIES } from '../../../core/tasks/task-definition.js';
import { TRAJECTORY_RESULTS, type TrajectoryResult } from '../../../core/trajectories/trajectory-result.js';
import { connect } from '../../connect.js';
import {
  cursor,
  cursorOption,
  idArgument,
  json,
  jsonOption,
  keyOption,
  limit,
  limitOption,
  numberOf,
  printMore,
} from '../../options.js';
import { plain, print, printJson, printTable } from '../../print.js';
import { printChanged } from '../../run-text.js';

/** A result as one line. */
function resultText(result: TrajectoryResult): string {
  if (result.type === 'success') return 'success';
  if (result.type === 'partial_success') return `partial success; missing: ${result.missing.map(plain).join(', ')}`;
  return `${result.type}: ${plain(result.reason)}`;
}

export function printTask(task: TaskView): void {
  print(`task     ${task.id}`);
  print(`name     ${plain(task.name)} ${plain(task.version)}`);
  print(`kind     ${plain(task.category)}, ${task.difficulty}`);
  print(`agent    ${plain(task.agent)}`);
  print(`status   ${task.status}`);
  print(`run      ${task.runId} (holdfast trajectory ${task.runId})`);
  if (task.attempts > 1) print(`attempts ${task.attempts}`);
  for (const { runId, error } of task.tried ?? [])
    if (error !== null) print(`failed   ${runId}: ${plain(error.code)}: ${plain(error.message)}`);
  const [newest] = task.tried ?? [];
  if (newest?.error != null) print(`way out  ${plain(newest.error.hint)}`);
  if (task.retryAt !== null) print(`again    ${task.retryAt}`);
  if (task.result !== null) print(`result   ${resultText(task.result)}`);
  if (task.reward !== null) print(`reward   ${task.reward}`);
  printChanged(task.integrity);
}

const listed = z.object({
  ...taskFilter.omit({ dead: true }).shape,
  dead: z.boolean().default(false),
  json,
  limit,
  cursor,
});
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
    .addOption(new Option('--batch <key>', 'only tasks of this batch').argParser(keyOption))
    .addOption(new Option('--min-reward <n>', 'only tasks with this reward or more').argParser(numberOf))
    .addOption(new Option('--max-reward <n>', 'only tasks with this reward or less').argParser(numberOf))
    .addOption(new Option('--min-quality <n>', 'only those whose last run has this score or more').argParser(numberOf))
    .addOption(new Option('--max-quality <n>', 'only those whose last run has this score or less').argParser(numberOf))
    .addOption(
      new Option('--min-diversity <n>', 'only those whose last run has this score or more').argParser(numberOf),
    )
    .addOption(
      new Option('--max-diversity <n>', 'only those whose last run has this score or less').argParser(numberOf),
    )
    .option('--dead', 'only tasks that failed by an error and that no attempt follows, with the reason of each attempt')
    .addOption(cursorOption())
    .addOption(limitOption())
    .addOption(jsonOption())
    .action(async (raw: unknown) => {
      const { json: asJson, dead, ...asked } = listed.parse(raw);
      const page = await connect().listTasks({ ...asked, ...(dead ? { dead: 'true' } : {}) });
      if (asJson) return printJson(page);
      if (dead) for (const task of page.items) printDead(task);
      else
        printTable(
          ['TASK', 'STATUS', 'RESULT', 'REWARD', 'NAME', 'VERSION', 'AGENT', 'CREATED'],
          page.items.map((task) => [
            ...[task.id, task.status, task.result?.type ?? '', task.reward === null ? '' : String(task.reward)],
            ...[task.name, task.version, task.agent, task.createdAt],
          ]),
        );
      printMore(page);
    });

/** A task with the errors of its attempts, the first one first. */
function printDead(task: TaskView): void {
  print(`${task.id} ${plain(task.name)} ${plain(task.version)} ${plain(task.agent)} ${task.createdAt}`);
  for (const { runId, error } of (task.tried ?? []).toReversed())
    if (error !== null) print(`  ${runId} ${plain(error.code)}: ${plain(error.message)}`);
}

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
