import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { NATIVE_PROVIDERS } from '../../src/core/models/model-provider-table.js';

/** Holdfast as it is where the optional packages are not installed: a copy of the build beside links to all other packages. */

const ROOT = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'without-peers-'));
afterAll(() => rmSync(folder, { recursive: true }));

function install(without: readonly string[]): void {
  rmSync(join(folder, 'node_modules'), { recursive: true, force: true });
  const link = (name: string) => symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    mkdirSync(join(folder, 'node_modules', name.startsWith('@') ? name : ''), { recursive: true });
    const names = name.startsWith('@')
      ? readdirSync(join(ROOT, 'node_modules', name)).map((one) => `${name}/${one}`)
      : [name];
    for (const one of names) if (!without.includes(one)) link(one);
  }
}

const PROGRAM = `
import { MultiModelProvider } from './dist/src/models/providers/multi-model-provider.js';
const provider = new MultiModelProvider({}, (name) => (name.endsWith('_API_KEY') ? 'sk-of-no one' : null));
for (const model of process.argv.slice(2))
  await provider.getModel(model).then(
    () => console.log('found'),
    ({ code, message, hint }) => console.log(JSON.stringify({ code, message, hint })),
  );
`;

beforeAll(() => {
  cpSync(join(ROOT, 'dist/src'), join(folder, 'dist/src'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
  writeFileSync(join(folder, 'ask.js'), PROGRAM);
});

const ADAPTER = '@openai/agents-extensions';
const CASES = Object.entries(NATIVE_PROVIDERS).flatMap(([prefix, row]) =>
  [ADAPTER, row.package.name].map((missing) => ({ prefix, own: row.package, missing })),
);

it.each(CASES)('$prefix without $missing names the package and the command', async ({ prefix, own, missing }) => {
  install([missing]);
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ['ask.js', `${prefix}/test`, 'openai/test'], { cwd: folder });
  const [line = '', other] = stdout.trim().split('\n');
  const { code, message, hint } = JSON.parse(line);
  expect(code).toBe('model_unknown');
  expect(message).toContain(`needs the package ${missing}, which is not installed`);
  expect(hint).toContain(`npm install ${ADAPTER}@0.18.0 ${own.name}@${own.version}`);
  // Without the packages all else works.
  expect(other).toBe('found');
});
