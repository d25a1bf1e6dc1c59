import { Command, Option } from 'commander';
import { z } from 'zod';
import { exportHarbor } from '../../../core/harbor/harbor-export.js';
import { Allowance } from '../../../core/limits/allowance.js';
import { resolveTask } from '../../../core/tasks/resolve-task.js';
import { toml as tomlFormat } from '../../formats.js';
import { jsonObjectOption, whole } from '../../options.js';
import { plain, print } from '../../print.js';
import { writeFolder } from './read-folder.js';
import { readTask } from './read-task.js';

const options = z.object({ harbor: z.string(), seed: z.number(), parameters: z.record(z.string(), z.unknown()) });

export const taskExportCommand = (): Command =>
  new Command('export')
    .description('Write a task as a task directory of Harbor, and say what Harbor does not know.')
    .argument('<task>', 'a definition file, a directory, or the name of a task that ships')
    .requiredOption('--harbor <directory>', 'the directory, which must not be there yet')
    .addOption(
      new Option('--seed <n>', 'decides what is random in the task; without it 0')
        .argParser(whole(0, 999_999_999))
        .default(0),
    )
    .addOption(
      new Option('--parameters <json>', 'those of the task, as JSON, or `@` and a file; without it their defaults')
        .argParser(jsonObjectOption)
        .default({}, 'their defaults'),
    )
    .action((place: string, raw: unknown) => {
      const { harbor, seed, parameters } = options.parse(raw);
      const definition = readTask(place);
      const { config, files, notes } = exportHarbor(
        resolveTask(definition, { parameters, seed }, new Allowance()),
        definition,
      );
      const toml = { content: Buffer.from(tomlFormat().stringify(config)), executable: false };
      const target = writeFolder(harbor, new Map([['task.toml', toml], ...files]));
      for (const note of notes) process.stderr.write(`note  ${plain(note)}\n`);
      print(`written to ${target}`);
    });
