import { Command } from 'commander';
import { z } from 'zod';
import { taskDefinition } from '../../../core/tasks/task-definition.js';
import { misuse } from '../../options.js';
import { print } from '../../print.js';
import { type FolderFile, readFolder, writeFolder } from './read-folder.js';
import { placeOf } from './read-task.js';

const options = z.object({ from: z.string() });

export const taskNewCommand = (): Command =>
  new Command('new')
    .description('Write a directory with a task that works, to be changed.')
    .argument('<name>', 'of the task and of the directory, which must not be there yet')
    .option(
      '--from <task>',
      'the task to begin with: a directory, or the name of one that ships; ' +
        '`count-words` has a definition that explains itself',
      'count-words',
    )
    .action((name: string, raw: unknown) => {
      const { from } = options.parse(raw);
      if (!taskDefinition.shape.name.safeParse(name).success)
        throw misuse(`"${name}" is no name of a task: small letters and digits, with "-", "_" or "." between them.`);
      const target = writeFolder(name, renamed(readFolder(placeOf(from)), name));
      print(`written to ${target}: change task.yaml, then \`holdfast task check ${name}\``);
    });

/** The definition with another name, and everything else as it is. */
function renamed(files: ReadonlyMap<string, FolderFile>, name: string): ReadonlyMap<string, FolderFile> {
  const definition = files.get('task.yaml');
  if (definition === undefined) throw misuse('The task to begin with has no task.yaml.');
  const text = definition.content.toString('utf8').replace(/^name: .*$/m, `name: ${name}`);
  return new Map([...files, ['task.yaml', { ...definition, content: Buffer.from(text) }]]);
}
