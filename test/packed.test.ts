import { execFile, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { pageText, section } from './docs/pages.js';
import { freePort } from './harness/free-port.js';
import { SLOW } from './harness/slow.js';

/** The tarball that `npm pack` writes, and an application that installs it. */

const ROOT = join(import.meta.dirname, '..');
const MB = 1024 * 1024;
const run = promisify(execFile);

/** npm tells its children where the package is that it works on; here that is another one. */
const ENV = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_')));

const packing = z
  .array(z.object({ filename: z.string(), size: z.number(), files: z.array(z.object({ path: z.string() })) }))
  .length(1);

async function pack(folder: string, ...options: string[]) {
  const { stdout } = await run('npm', ['pack', '--json', ...options], { cwd: folder, env: ENV, maxBuffer: 16 * MB });
  const [only] = packing.parse(JSON.parse(stdout));
  if (only === undefined) throw new Error('npm packed nothing');
  return { file: join(folder, only.filename), size: only.size, paths: only.files.map(({ path }) => path) };
}

const manifest = z.object({
  exports: z.record(z.string(), z.object({ types: z.string(), default: z.string() })),
  bin: z.record(z.string(), z.string()),
  imports: z.record(z.string(), z.string()),
  keywords: z.array(z.string()),
});
const declared = manifest.parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));

const linksOf = (page: string): string[] =>
  [...readFileSync(join(ROOT, page), 'utf8').matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target.replace(/#.*$/, ''))
    .filter((target) => target !== '' && !/^https?:/.test(target))
    .map((target) => normalize(join(dirname(page), target)));

describe('the list of packed files', () => {
  let paths: string[] = [];
  beforeAll(async () => {
    paths = (await pack(ROOT, '--dry-run', '--ignore-scripts')).paths;
  });

  test('has what package.json names', () => {
    const named = [
      ...Object.values(declared.exports).flatMap(({ types, default: code }) => [types, code]),
      ...Object.values(declared.bin),
      ...Object.values(declared.imports),
    ];
    expect(named.map((path) => normalize(path)).filter((path) => !paths.includes(path))).toEqual([]);
  });

  test('has no source maps, since the sources stay behind', () => {
    expect(paths.filter((path) => path.endsWith('.map'))).toEqual([]);
  });

  test('has every file that the README and the pages under docs link to', () => {
    const pages = paths.filter((path) => path === 'README.md' || /^(docs|examples)\/.*\.md$/.test(path));
    expect(pages.length).toBeGreaterThan(50);
    const packed = (target: string): boolean => paths.some((path) => path === target || path.startsWith(`${target}/`));
    const missing = pages.flatMap((page) =>
      linksOf(page)
        .map((target) => target.replace(/\/$/, ''))
        .filter((target) => !packed(target))
        .map((target) => `${page}: ${target}`),
    );
    expect(missing).toEqual([]);
  });

  test('is found by its keywords', () => {
    expect(declared.keywords).toEqual(expect.arrayContaining(['agents', 'durable-execution', 'openai-agents']));
  });
});

describe.runIf(SLOW)('an application that installs the tarball', () => {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-packed-'));
  // The README says `../holdfast/`.
  const clone = join(home, 'holdfast');
  const app = join(home, 'app');
  afterAll(() => rmSync(home, { recursive: true, force: true }));

  const node = async (...args: string[]): Promise<string> =>
    (await run(process.execPath, args, { cwd: app, env: ENV, timeout: 60_000 })).stdout;

  beforeAll(async () => {
    const files = [
      'package.json',
      '.npmrc',
      'tsconfig.json',
      'tsconfig.build.json',
      'tsconfig.console.json',
      'README.md',
      'LICENSE',
    ];
    const folders = [
      'src',
      'steps',
      'workflows',
      'migrations',
      'scripts/console',
      'scripts/library',
      'scripts/pack',
      'docs',
      'examples',
      'deploy',
    ];
    for (const name of [...files, ...folders]) cpSync(join(ROOT, name), join(clone, name), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
    mkdirSync(app);
    writeFileSync(join(app, 'package.json'), JSON.stringify({ name: 'app', version: '1.0.0', private: true }));
    // Nothing was built in the clone: prepack has to do it.
    const { file } = await pack(clone);
    expect(statSync(file).size).toBeLessThan(2 * MB);
    const options = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'];
    await run('npm', ['install', ...options, file, '@openai/agents@0.20.0', 'zod@4.6.7'], { cwd: app, env: ENV });
  }, 300_000);

  const names = Object.keys(declared.exports).map((entry) => `holdfast${entry.slice(1)}`);

  test('loads every entry by import', async () => {
    const loads = names.map((name) => `console.log(typeof (await import('${name}')));`).join('');
    expect(await node('--input-type=module', '-e', loads)).toBe('object\n'.repeat(names.length));
  });

  test('has declarations in which a compiler finds no error', async () => {
    const imports = names.map((name, index) => `import * as entry${index} from '${name}';\nexport { entry${index} };`);
    writeFileSync(join(app, 'types.ts'), imports.join('\n'));
    const options = [
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2023',
      '--types',
      'node',
      '--skipLibCheck',
      'false',
    ];
    const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
    const said = await node(compiler, '--noEmit', ...options, 'types.ts').catch(
      (error: { stdout: string }) => error.stdout,
    );
    // The Agents SDK's own declarations have errors under newer types of Node.
    expect(said.split('\n').filter((line) => /^(types\.ts|node_modules\/holdfast\/)/.test(line))).toEqual([]);
  }, 120_000);

  test('loads every entry by require', async () => {
    const loads = names.map((name) => `console.log(typeof require('${name}'));`).join('');
    expect(await node('--input-type=commonjs', '-e', loads)).toBe('object\n'.repeat(names.length));
  });

  test('has the command', async () => {
    expect(await node('node_modules/holdfast/dist/lib/main.js', '--version')).toMatch(/0\.1\.0/);
  });

  test('runs an agent of holdfast/sdk by require', async () => {
    const requires = PROGRAM.replaceAll(/import (\{.*\}) from ('.*');/g, 'const $1 = require($2);').replace(
      '@openai/agents',
      'holdfast/sdk',
    );
    writeFileSync(join(app, 'run.cjs'), `(async () => {${requires}})();`);
    expect(await node('run.cjs')).toBe('completed: 42\n');
  });

  test('runs an agent', async () => {
    writeFileSync(join(app, 'run.mjs'), PROGRAM);
    expect(await node('run.mjs')).toBe('completed: 42\n');
  });

  test('the commands of the README, in a new folder, with a server that is killed between them', async () => {
    const started = Date.now();
    const [setUp = '', use = ''] = shellOf('README.md', '## Your own agent, in a new folder');
    const serves = 'npx holdfast serve\n';
    expect(setUp.endsWith(serves)).toBe(true);
    const env = { ...ENV, HOLDFAST_PORT: String(await freePort()), npm_config_prefer_offline: 'true' };
    await run('bash', ['-ec', setUp.slice(0, -serves.length)], { cwd: home, env });
    const cwd = join(home, 'my-agent');
    const said = async (line: string): Promise<string> => (await run('bash', ['-c', line], { cwd, env })).stdout;
    const [runs = '', opens = '', approves = '', verifies = '', ...more] = use.trimEnd().split('\n');
    expect(more).toEqual([]);

    let server = await serve(cwd, env);
    try {
      const paused = await said(runs);
      const [id = ''] = /\brun_\w+/.exec(paused) ?? [];
      const [interruption = ''] = /\bint_\w+/.exec(paused) ?? [];
      server.kill();
      server = await serve(cwd, env);
      expect(await said(opens)).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/login#code=/);
      expect(await said('npx holdfast inbox')).toContain('Refund 80 EUR for order 1042?');
      await said(approves.replace('<interruption>', interruption));
      expect(await said(`npx holdfast wait ${id}`)).toContain('Order 1042 is refunded.');
      expect(await said(verifies.replace('<run>', id))).toMatch(/^ok: \d+ events, complete$/m);
    } finally {
      server.kill();
    }
    // Five minutes is how long a person may take.
    expect(Date.now() - started).toBeLessThan(300_000);
    const tested = await run('npx', ['vitest', 'run'], { cwd, env });
    // Colours are on where the tests of this repository have them.
    expect(stripVTControlCharacters(tested.stdout)).toMatch(/Tests +1 passed/);
  }, 400_000);
});

/** The blocks of shell commands under a heading of a page. */
const shellOf = (page: string, heading: string): string[] =>
  [...section(pageText(page), heading).matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, lines = '']) => lines);

/** Serves in a group of processes of its own, since npx starts others. Resolves when the server answers. */
async function serve(cwd: string, env: NodeJS.ProcessEnv): Promise<{ readonly kill: () => void }> {
  const child = spawn('npx', ['holdfast', 'serve'], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
  const printed = await new Promise<string>((resolve) => {
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (more: string) => {
      text += more;
      if (/^agents +cashier$/m.test(text)) resolve(text);
    });
    child.once('close', () => resolve(text));
  });
  expect(printed).toMatch(/^agents +cashier$/m);
  return { kill: () => process.kill(-(child.pid ?? Number.NaN), 'SIGKILL') };
}

const PROGRAM = `
import { Agent } from '@openai/agents';
import { defineAgent, defineTool } from 'holdfast';
import { call, createTestEngine, say, scriptedModel } from 'holdfast/testing';
import { z } from 'zod';

const answer = defineTool({
  name: 'answer',
  description: 'Answers.',
  input: z.object({}),
  output: z.number(),
  effect: 'pure',
  capabilities: ['demo:answer:any'],
  execute: async () => 42,
});
const model = scriptedModel([[call('answer', {})], [say('42')]]);
const engine = await createTestEngine({ agents: [defineAgent({ agent: new Agent({ name: 'a', model, tools: [answer] }), grants: ['demo:answer:any'] })] });
const { status, output } = await engine.run('a');
console.log(status + ': ' + output);
await engine.close();
`;
