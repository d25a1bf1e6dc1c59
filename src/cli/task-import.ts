import { writeFileSync } from 'node:fs';
import { Command } from 'commander';
import { z } from 'zod';
import { importHarbor } from '../core/harbor-import.js';
import { definitionText } from './definition-text.js';
import { readHarborFolder } from './harbor-folder.js';
import { misuse } from './options.js';
import { plain, print } from './print.js';

const options = z.object({ out: z.string().optional(), image: z.string().optional() });

export const taskImportCommand = (): Command =>
  new Command('import')
    .description('Make a definition of a task directory of Harbor, and say what it does not say.')
    .argument('<directory>', 'with task.toml, instruction.md, environment/ and tests/test.sh')
    .option('--out <file>', 'write to a file that is not there yet; otherwise it is printed')
    .option('--image <image>', 'one that has what environment/Dockerfile would build')
    .action((directory: string, raw: unknown) => {
      const { out, image } = options.parse(raw);
      const { task, notes } = importHarbor(readHarborFolder(directory), image ?? null);
      for (const note of notes) process.stderr.write(`note  ${plain(note)}\n`);
      const text = definitionText(task);
      if (out === undefined) return void process.stdout.write(text);
      try {
        writeFileSync(out, text, { flag: 'wx' });
      } catch (error) {
        const why = error instanceof Error && 'code' in error ? String(error.code) : String(error);
        throw misuse(`The file ${out} cannot be made: ${why}.`);
      }
      print(`written to ${out}`);
    });
