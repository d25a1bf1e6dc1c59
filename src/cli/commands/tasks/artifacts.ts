import { writeFileSync } from 'node:fs';
import { Command } from 'commander';
import { z } from 'zod';
import { codeOrText } from '../../../core/errors/errors.js';
import { connect } from '../../connect.js';
import { idArgument, json, jsonOption, misuse } from '../../options.js';
import { plain, print, printJson, printTable } from '../../print.js';

const options = z.object({ json, out: z.string().optional() });

export const artifactsCommand = (): Command =>
  new Command('artifacts')
    .argument('<run>', 'id of a run', idArgument)
    .argument('[name]', 'name of an artifact; without --out it goes to standard output', idArgument)
    .option('--out <file>', 'new file for the artifact')
    .addOption(jsonOption())
    .action(async (run: string, name: string | undefined, raw: unknown) => {
      const asked = options.parse(raw);
      if (name === undefined && asked.out !== undefined)
        throw misuse('The option --out needs the name of an artifact.');
      const client = connect();
      if (name !== undefined) {
        const bytes = await client.readArtifact(run, name);
        if (asked.out === undefined) process.stdout.write(bytes);
        else writeNew(asked.out, bytes);
        return;
      }
      const { items, leftOut, more } = await client.listArtifacts(run);
      if (asked.json) return printJson({ items, leftOut, more });
      printTable(
        ['NAME', 'KIND', 'BYTES', 'PATH', 'SHA-256'],
        items.map(({ name: one, kind, sizeBytes, path, sha256 }) => [one, kind, String(sizeBytes), path, sha256]),
      );
      for (const { path, why } of leftOut) print(`Left out: ${plain(path)}: ${plain(why)}.`);
      if (more > 0) print(`Left out: ${more} more.`);
    });

function writeNew(path: string, bytes: Uint8Array): void {
  try {
    writeFileSync(path, bytes, { flag: 'wx' });
  } catch (cause) {
    const why = codeOrText(cause);
    throw misuse(`${path} cannot be written (${why}): expected the path of a new file.`);
  }
}
