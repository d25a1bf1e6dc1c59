import { writeFileSync } from 'node:fs';
import { Command, Option } from 'commander';
import { z } from 'zod';
import { readSettings } from '../../../config.js';
import { codeOrText } from '../../../core/errors/errors.js';
import type { HarborBuild } from '../../../core/harbor/harbor-build.js';
import { importHarbor } from '../../../core/harbor/harbor-import.js';
import { DEFAULT_DOCKER_HOST } from '../../../engine/containers/open-containers.js';
import { json, misuse } from '../../options.js';
import { print } from '../../print.js';
import { definitionText } from './definition-text.js';
import { BENCHMARKS, benchmarkAt, importBenchmark, tell, writeImported } from './import-benchmark.js';
import { readHarborFolder } from './read-folder.js';

const options = z.object({
  out: z.string().optional(),
  image: z.string().optional(),
  format: z.enum(['harbor', ...BENCHMARKS]).optional(),
  json,
  build: z.boolean(),
  buildNetwork: z.enum(['none', 'open']),
});

export const taskImportCommand = (): Command =>
  new Command('import')
    .description('Make definitions of tasks of another format, and say what did not fit.')
    .argument('<place>', 'a directory of Harbor, a file of JSON lines, an exercise, or a directory of exercises')
    .addOption(
      new Option('--format <format>', 'what the place holds; without it the content says so').choices([
        'harbor',
        ...BENCHMARKS,
      ]),
    )
    .option(
      '--out <file>',
      'a file that is not there yet, of a benchmark a directory; without it the definition or the report is printed',
    )
    .option(
      '--image <image>',
      'an image to begin with, instead of building `environment/Dockerfile`. Of a benchmark, the image of each task; `{id}` is its id',
    )
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
    .addOption(new Option('--json', 'print the report of a benchmark as JSON'))
    .action(async (directory: string, raw: unknown) => {
      const { out, image, build: isBuilt, buildNetwork, format, json: asJson } = options.parse(raw);
      const found = format ?? benchmarkAt(directory) ?? 'harbor';
      if (found !== 'harbor')
        return writeImported(importBenchmark(found, directory, { image: image ?? null }), out, asJson);
      if (asJson) throw misuse('--json is for benchmarks: a directory of Harbor gives a definition in YAML.');
      const { task, notes, build } = importHarbor(readHarborFolder(directory), image ?? null);
      for (const note of notes) tell('note', note);
      if (build !== null && isBuilt) await buildNow(build, buildNetwork);
      else if (build !== null) tell('note', `the image ${build.image} is not built: import again without --no-build`);
      const text = definitionText(task);
      if (out === undefined) return void process.stdout.write(text);
      try {
        writeFileSync(out, text, { flag: 'wx' });
      } catch (error) {
        const why = codeOrText(error);
        throw misuse(`The file ${out} cannot be made: ${why}. Name a new file, in a folder that is there.`);
      }
      print(`written to ${out}`);
    });

async function buildNow(build: HarborBuild, network: 'none' | 'open'): Promise<void> {
  const { dockerHost, dockerCertPath: certPath } = readSettings();
  // Loaded when needed: most imports build nothing.
  const { buildImage } = await import('../../../containers/lifecycle/build-image.js');
  const onLine = (line: string): void => tell('build', line);
  const isNew = await buildImage({ host: dockerHost ?? DEFAULT_DOCKER_HOST, certPath }, { ...build, network, onLine });
  tell('build', isNew ? `${build.image} is built` : `${build.image} was built before`);
}
