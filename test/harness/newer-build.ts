import { cpSync, mkdtempSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundlePrograms, ROOT } from './bundle-programs.js';

const NAMED = "process.env['RECORDING_VERSION']";

/** Of each module of the build, what is said otherwise, and how. */
const CHANGES: Readonly<Record<string, readonly (readonly [from: string, to: string])[]>> = {
  'src/engine/dbos/recording-version.js': [['RECORDING_VERSION = 1', `RECORDING_VERSION = Number(${NAMED})`]],
  'workflows/run-segment.js': [
    ["name: 'segment:begin'", `name: 'segment:begin of ' + ${NAMED}`],
    ["name: 'segment:end'", `name: 'segment:end of ' + ${NAMED}`],
  ],
  'workflows/model-turn/ask-model.js': [[`\`model:\${turn}\``, `\`model of \${${NAMED}}:\${turn}\``]],
};

/**
 * A build of these programs whose recorded segments are not those of the build: its steps have other names, and its recording version
 * is the one of the environment. Gives its directory, a fresh one.
 */
export async function newerBuild(...programs: readonly string[]): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-newer-'));
  const unchanged = new Set(Object.keys(CHANGES));
  await bundlePrograms(join(dir, 'dist'), programs, (module, text) => {
    unchanged.delete(module);
    return (CHANGES[module] ?? []).reduce((changed, [from, to]) => {
      if (changed.split(from).length !== 2) throw new Error(`${module} does not have ${from} once`);
      return changed.replace(from, to);
    }, text);
  });
  if (unchanged.size > 0) throw new Error(`there is no ${[...unchanged].join(' and no ')} in the build`);
  cpSync(join(ROOT, 'package.json'), join(dir, 'package.json'));
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'));
  return dir;
}
