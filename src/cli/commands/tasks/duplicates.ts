import { Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { HoldfastError } from '../../../core/errors/errors.js';
import { PAGE_LIMIT, wholeItems } from '../../../core/page.js';
import {
  type NearDuplicate,
  nearDuplicates,
  sketchOfTask,
  TASKS_MOST,
  type TaskSketch,
} from '../../../core/quality/near-duplicates.js';
import type { NamedVersion } from '../../../core/tasks/registry.js';
import { parseTask } from '../../../core/tasks/task-definition.js';
import { connect } from '../../connect.js';
import { json, jsonOption, numberOf } from '../../options.js';
import { plain, print, printJson, printTable } from '../../print.js';
import { readTask } from './read-task.js';
import { versionArgument } from './task-registry.js';

/** Which tasks say nearly the same, in files of this machine and in datasets of a server. */

const LEAST = 0.1;

function shareArgument(text: string): number {
  const share = numberOf(text);
  if (share >= LEAST && share <= 1) return share;
  throw new InvalidArgumentError(`Expected a number from ${LEAST} to 1.`);
}

const leastOption = (): Option =>
  new Option('--least <share>', 'how much of their instructions or of their tests is the same')
    .argParser(shareArgument)
    .default(0.8);

const ofFiles = z.object({ json, least: z.number(), against: z.string().array().optional() });

export const taskDuplicatesCommand = (): Command =>
  new Command('duplicates')
    .description('Find tasks that say nearly the same; exit code 1 if there are some.')
    .argument('<task...>', 'definition files, directories, or names of tasks that ship')
    .option('--against <task...>', 'compare with these instead of with each other')
    .addOption(leastOption())
    .addOption(jsonOption())
    .action((places: readonly string[], raw: unknown) => {
      const { json: asJson, least, against = null } = ofFiles.parse(raw);
      const sketches = (of: readonly string[]): readonly TaskSketch[] =>
        atMost(of).map((place) => sketchOfTask(readTask(place)));
      tell(sketches(places), against === null ? null : sketches(against), { least, asJson });
    });

const ofDatasets = z.object({ json, least: z.number() });

export const datasetDuplicatesCommand = (): Command =>
  new Command('duplicates')
    .description('Find tasks of a dataset that say nearly the same, or those of two; exit code 1 if there are some.')
    .argument('<name@version>', 'of a dataset', versionArgument)
    .argument('[other]', 'name and version of another dataset, to compare the tasks of both', versionArgument)
    .addOption(leastOption())
    .addOption(jsonOption())
    .action(async (of: NamedVersion, other: NamedVersion | undefined, raw: unknown) => {
      const { json: asJson, least } = ofDatasets.parse(raw);
      const tasks = await sketchesOf(of);
      tell(tasks, other === undefined ? null : await sketchesOf(other), { least, asJson });
    });

function atMost<T>(tasks: readonly T[]): readonly T[] {
  if (tasks.length <= TASKS_MOST) return tasks;
  throw new HoldfastError('invalid_request', `There are ${tasks.length} tasks; at most ${TASKS_MOST} are compared.`);
}

const AT_ONCE = 8;

/** Reads each definition of a dataset, and keeps its sketch. */
async function sketchesOf({ name, version }: NamedVersion): Promise<readonly TaskSketch[]> {
  const client = connect();
  const sketches: TaskSketch[] = [];
  for (let cursor: string | null = '0'; cursor !== null; ) {
    const page: Awaited<ReturnType<typeof client.listDatasetTasks>> = await client.listDatasetTasks(name, version, {
      cursor,
      limit: PAGE_LIMIT,
    });
    const tasks = wholeItems(page);
    for (let at = 0; at < tasks.length; at += AT_ONCE) {
      const read = tasks.slice(at, at + AT_ONCE).map(async (task) => {
        const { definition } = await client.getTaskDefinition(task.name, task.version);
        return sketchOfTask(parseTask(definition));
      });
      sketches.push(...(await Promise.all(read)));
    }
    cursor = page.nextCursor;
  }
  return sketches;
}

function tell(
  tasks: readonly TaskSketch[],
  others: readonly TaskSketch[] | null,
  { least, asJson }: { readonly least: number; readonly asJson: boolean },
): void {
  const { found, pairs } = nearDuplicates(tasks, others, least);
  if (found > 0) process.exitCode = 1;
  if (asJson) {
    printJson({ tasks: tasks.length, against: others?.length ?? null, least, found, pairs });
    return;
  }
  if (found > 0) printTable(['INSTRUCTION', 'TESTS', 'TASK', 'TASK'], pairs.map(cellsOf));
  if (found > pairs.length) print(`The ${pairs.length} that are most alike are shown.`);
  const compared = others === null ? `${tasks.length} tasks` : `${tasks.length} tasks and ${others.length} others`;
  print(`${compared}: ${found === 1 ? '1 pair says' : `${found} pairs say`} nearly the same`);
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;

const cellsOf = ({ a, b, instruction, tests }: NearDuplicate): readonly string[] => [
  ...[percent(instruction), percent(tests), plain(a), plain(b)],
];
