import { Command, Option } from 'commander';
import { z } from 'zod';
import { type DatasetView, idOf } from '../../../core/tasks/registry.js';
import type { TaskDefinition } from '../../../core/tasks/task-definition.js';
import { connect } from '../../connect.js';
import { cursor, cursorOption, json, jsonOption, limit, limitOption, printMore } from '../../options.js';
import { plain, print, printJson, printTable } from '../../print.js';
import { datasetDuplicatesCommand } from './duplicates.js';
import { readTask } from './read-task.js';
import { printDefinitions, versionArgument } from './task-registry.js';

/** Commands on datasets: named and versioned sets of definitions. */
export const datasetCommand = (): Command =>
  new Command('dataset')
    .helpCommand(false)
    .addCommand(datasetCreateCommand())
    .addCommand(datasetListCommand())
    .addCommand(datasetShowCommand())
    .addCommand(datasetDuplicatesCommand());

const made = z.object({ json, description: z.string() });

const datasetCreateCommand = (): Command =>
  new Command('create')
    .description('Register tasks and keep them as a dataset.')
    .argument('<name@version>', 'of the dataset', versionArgument)
    .argument(
      '<task...>',
      'definition files, directories, names of tasks that ship, or `<name>@<version>` of definitions',
    )
    .addOption(new Option('--description <text>', 'what it is').default(''))
    .addOption(jsonOption())
    .action(async (of: ReturnType<typeof versionArgument>, places: readonly string[], raw: unknown) => {
      const { json: asJson, description } = made.parse(raw);
      const client = connect();
      // All of them are read before one is kept.
      const given = places.map((place) =>
        /^[^/]+@\d/.test(place) ? { ...versionArgument(place), task: null } : withTask(readTask(place)),
      );
      for (const { task } of given) if (task !== null) await client.registerTask({ task });
      const tasks = given.map(({ name, version }) => ({ name, version }));
      const dataset = await client.createDataset({ ...of, description, tasks });
      if (asJson) return printJson(dataset);
      printDataset(dataset);
    });

const withTask = (task: TaskDefinition) => ({ name: task.name, version: task.version, task });

function printDataset(dataset: DatasetView): void {
  print(`${idOf(dataset)} ${dataset.digest}`);
  print(`${dataset.tasks} tasks, made by ${plain(dataset.createdBy)} at ${dataset.createdAt}`);
  if (dataset.description !== '') print(plain(dataset.description));
}

const listed = z.object({ json, limit, cursor, name: z.string().optional() });

const datasetListCommand = (): Command =>
  new Command('list')
    .description('List datasets, newest first.')
    .option('--name <name>', 'only versions of this dataset')
    .addOption(cursorOption())
    .addOption(limitOption())
    .addOption(jsonOption())
    .action(async (raw: unknown) => {
      const { json: asJson, ...asked } = listed.parse(raw);
      const page = await connect().listDatasets(asked);
      if (asJson) return printJson(page);
      printTable(
        ['NAME', 'VERSION', 'TASKS', 'CREATED', 'DESCRIPTION'],
        page.items.map(({ name, version, tasks, createdAt, description }) => [
          ...[name, version, String(tasks), createdAt, description],
        ]),
      );
      printMore(page);
    });

const shown = z.object({ json, limit, cursor });

const datasetShowCommand = (): Command =>
  new Command('show')
    .description('Show a dataset and its tasks.')
    .argument('<name@version>', 'of a dataset', versionArgument)
    .addOption(cursorOption())
    .addOption(limitOption())
    .addOption(jsonOption())
    .action(async ({ name, version }: ReturnType<typeof versionArgument>, raw: unknown) => {
      const { json: asJson, ...page } = shown.parse(raw);
      const client = connect();
      const dataset = await client.getDataset(name, version);
      const tasks = await client.listDatasetTasks(name, version, page);
      if (asJson) return printJson({ ...dataset, ...tasks });
      printDataset(dataset);
      printDefinitions(tasks.items);
      printMore(tasks);
    });
