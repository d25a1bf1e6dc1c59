import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

/**
 * A copy of the build whose recorded segments are not those of the build: its steps have other names, and its recording version
 * is the one of the environment. Gives the directory of the copy, which stands in the place of `dist`.
 */
export function newerBuild(): string {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-newer-'));
  const dist = join(dir, 'dist');
  for (const room of ['src', 'steps', 'workflows', 'migrations', 'test'])
    cpSync(join(ROOT, 'dist', room), join(dist, room), { recursive: true });
  cpSync(join(ROOT, 'package.json'), join(dir, 'package.json'));
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'));
  change(join(dist, 'src/engine/recording-version.js'), [
    ['RECORDING_VERSION = 1', "RECORDING_VERSION = Number(process.env['RECORDING_VERSION'])"],
  ]);
  const named = "process.env['RECORDING_VERSION']";
  change(join(dist, 'workflows/agent-run.js'), [
    ["name: 'segment:begin'", `name: 'segment:begin of ' + ${named}`],
    ["name: 'segment:end'", `name: 'segment:end of ' + ${named}`],
  ]);
  change(join(dist, 'workflows/durable-model.js'), [[`\`model:\${turn}\``, `\`model of \${${named}}:\${turn}\``]]);
  return dist;
}

function change(file: string, replacements: readonly (readonly [from: string, to: string])[]): void {
  let text = readFileSync(file, 'utf8');
  for (const [from, to] of replacements) {
    if (text.split(from).length !== 2) throw new Error(`${file} does not have ${from} once`);
    text = text.replace(from, to);
  }
  writeFileSync(file, text);
}
