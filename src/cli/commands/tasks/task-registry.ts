import { Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { type DefinitionDiff, type DefinitionSummary, idOf, namedVersion } from '../../../core/tasks/registry.js';
import { DIFFICULTIES, parseTask } from '../../../core/tasks/task-definition.js';
import { connect } from '../../connect.js';
import { cursor, cursorOption, json, jsonOption, limit, limitOption, misuse, printMore } from '../../options.js';
import { plain, print, printJson, printTable } from '../../print.js';
import { definitionText } from './definition-text.js';
import { readTask } from './read-task.js';

/** Commands on the registry of tasks that a server keeps. */

/** `<name>@<version>`. */
export function versionArgument(text: string): { readonly name: string; readonly version: string } {
  const at = text.indexOf('@');
  const parsed = namedVersion.safeParse({ name: text.slice(0, at), version: text.slice(at + 1) });
  if (at > 0 && parsed.success) return parsed.data;
  throw new InvalidArgumentError('Expected a name and a version, such as count-words@1.0.0.');
}

const registered = z.object({ json });

export const taskRegisterCommand = (): Command =>
  new Command('register')
    .description('Keep definitions in the registry of the server, without submitting them.')
    .argument('<task...>', 'definition files, directories, or names of tasks that ship')
    .addOption(jsonOption())
    .action(async (places: readonly string[], raw: unknown) => {
      const { json: asJson } = registered.parse(raw);
      // All of them are read before one is kept.
      const tasks = places.map((place) => readTask(place));
      for (const task of tasks) {
        const kept = await connect().registerTask({ task });
        if (asJson) printJson(kept);
        else print(`${idOf(kept)} ${kept.digest}`);
      }
    });

const listed = z.object({
  json,
  limit,
  cursor,
  name: z.string().optional(),
  category: z.string().optional(),
  difficulty: z.string().optional(),
  deprecated: z.boolean().optional(),
});

export const taskDefinitionsCommand = (): Command =>
  new Command('definitions')
    .description('List the definitions of the registry, the last registered first.')
    .option('--name <name>', 'only versions of this task')
    .option('--category <category>', 'only definitions of this category')
    .addOption(new Option('--difficulty <difficulty>', 'only definitions of this difficulty').choices(DIFFICULTIES))
    .option('--deprecated', 'only deprecated definitions')
    .addOption(cursorOption())
    .addOption(limitOption())
    .addOption(jsonOption())
    .action(async (raw: unknown) => {
      const { json: asJson, deprecated, ...asked } = listed.parse(raw);
      const page = await connect().listTaskDefinitions({ ...asked, ...(deprecated ? { deprecated: 'true' } : {}) });
      if (asJson) return printJson(page);
      printDefinitions(page.items);
      printMore(page);
    });

export function printDefinitions(items: readonly DefinitionSummary[]): void {
  printTable(
    ['NAME', 'VERSION', 'CATEGORY', 'DIFFICULTY', 'REGISTERED', 'DEPRECATED'],
    items.map(({ name, version, category, difficulty, registeredAt, deprecated }) => [
      ...[name, version, category, difficulty, registeredAt, deprecated?.reason ?? ''],
    ]),
  );
}

export const taskReadCommand = (): Command =>
  new Command('read')
    .description('Print a definition of the registry.')
    .argument('<name@version>', 'of a definition', versionArgument)
    .addOption(jsonOption())
    .action(async ({ name, version }: ReturnType<typeof versionArgument>, raw: unknown) => {
      const found = await connect().getTaskDefinition(name, version);
      if (registered.parse(raw).json) return printJson(found);
      process.stdout.write(definitionText(parseTask(found.definition)));
    });

export const taskDiffCommand = (): Command =>
  new Command('diff')
    .description('Compare two versions of a task; exit code 1 if they differ.')
    .argument('<name@version>', 'of a definition', versionArgument)
    .argument('<version>', 'the version to compare it with')
    .addOption(jsonOption())
    .action(async ({ name, version }: ReturnType<typeof versionArgument>, other: string, raw: unknown) => {
      if (!namedVersion.safeParse({ name, version: other }).success)
        throw misuse(`"${other}" is no version, such as 1.0.0.`);
      const diff = await connect().diffTaskDefinitions(name, version, other);
      if (registered.parse(raw).json) printJson(diff);
      else printDiff(diff);
      if (!diff.same) process.exitCode = 1;
    });

function printDiff({ from, to, same, differences, more }: DefinitionDiff): void {
  print(`from   ${idOf(from)} ${from.digest}`);
  print(`to     ${idOf(to)} ${to.digest}`);
  if (same) print('same   but for the version');
  for (const { pointer, detail } of differences) print(`${plain(pointer || 'all of it')}: ${plain(detail)}`);
  if (more > 0) print(`and ${more} more`);
}

const deprecation = z.object({ json, reason: z.string().optional(), undo: z.boolean().optional() });

export const taskDeprecateCommand = (): Command =>
  new Command('deprecate')
    .description('Deprecate a definition, so that it is not submitted any more.')
    .argument('<name@version>', 'of a definition', versionArgument)
    .option('--reason <text>', 'why, which each refused submission gets')
    .option('--undo', 'takes the deprecation back')
    .addOption(jsonOption())
    .action(async ({ name, version }: ReturnType<typeof versionArgument>, raw: unknown) => {
      const { json: asJson, reason, undo } = deprecation.parse(raw);
      if ((reason === undefined) === (undo === undefined)) throw misuse('Expected either --reason <text> or --undo.');
      const kept = await connect().deprecateTaskDefinition(name, version, { reason: reason ?? null });
      if (asJson) return printJson(kept);
      print(kept.deprecated === null ? `${idOf(kept)} is in use` : `${idOf(kept)} is deprecated`);
    });
