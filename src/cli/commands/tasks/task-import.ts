import { writeFileSync } from 'node:fs';
import { Command, Option } from 'commander';
import { z } from 'zod';
import { readSettings } from '../../../config.js';
import type { HarborBuild } from '../../../core/harbor/harbor-build.js';
import { importHarbor } from '../../../core/harbor/harbor-import.js';
import { DEFAULT_DOCKER_HOST } from '../../../engine/containers/open-containers.js';
import { misuse } from '../../options.js';
import { plain, print } from '../../print.js';
import { definitionText } from './definition-text.js';
import { readHarborFolder } from './read-folder.js';

const options = z.object({
  out: z.string().optional(),
  image: z.string().optional(),
  build: z.boolean(),
  buildNetwork: z.enum(['none', 'open']),
});

export const taskImportCommand = (): Command =>
  new Command('import')
    .description('Make a definition of a task directory of Harbor, and say what it does not say.')
    .argument('<directory>', 'with task.toml, instruction.md, environment/ and tests/test.sh')
    .option('--out <file>', 'a file that is not there yet; without it the definition is printed')
    .option('--image <image>', 'an image to begin with, instead of building `environment/Dockerfile`')
    .option('--no-build', 'leaves the image to a later import; the definition names it')
    .addOption(
      new Option(
        '--build-network <network>',
        "what the programs of the build reach: `none`, or `open` for what the engine's bridge " +
          'reaches; without it `none`',
      )
        .choices(['none', 'open'])
        .default('none'),
    )
    .action(async (directory: string, raw: unknown) => {
      const { out, image, build: isBuilt, buildNetwork } = options.parse(raw);
      const { task, notes, build } = importHarbor(readHarborFolder(directory), image ?? null);
      for (const note of notes) tell('note', note);
      if (build !== null && isBuilt) await buildNow(build, buildNetwork);
      else if (build !== null) tell('note', `the image ${build.image} is not built: import again without --no-build`);
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

const tell = (what: string, text: string): void => void process.stderr.write(`${what}  ${plain(text)}\n`);

async function buildNow(build: HarborBuild, network: 'none' | 'open'): Promise<void> {
  const { dockerHost } = readSettings();
  // Loaded when needed: most imports build nothing.
  const { buildImage } = await import('../../../containers/lifecycle/build-image.js');
  const onLine = (line: string): void => tell('build', line);
  const isNew = await buildImage(dockerHost ?? DEFAULT_DOCKER_HOST, { ...build, network, onLine });
  tell('build', isNew ? `${build.image} is built` : `${build.image} was built before`);
}
