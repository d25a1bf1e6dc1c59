import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { pageText } from '../docs/pages.js';
import { freePort } from '../harness/free-port.js';
import { SLOW } from '../harness/slow.js';
import { runHere } from './in-process.js';
import { Program } from './program.js';

const REPOSITORY = join(import.meta.dirname, '../..');

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-init-'));
});
afterAll(() => {
  rmSync(dir, { recursive: true, force: true });
});

/** The packages that a package manager would install. */
function install(project: string): void {
  const modules = join(project, 'node_modules');
  mkdirSync(modules);
  symlinkSync(REPOSITORY, join(modules, 'holdfast'));
  for (const name of ['@openai', '@types', 'zod', 'vitest', 'typescript'])
    symlinkSync(join(REPOSITORY, 'node_modules', name), join(modules, name));
}

it.each([
  ['ts', [], 'npm install', 'npx holdfast serve'],
  ['js', ['--js', '--package-manager', 'pnpm'], 'pnpm install', 'pnpm exec holdfast serve'],
  ['js', ['--js', '--package-manager', 'yarn'], 'yarn install', 'yarn holdfast serve'],
])('a project in %s with %j says the commands that come next', async (language, more, installs, serves) => {
  const project = join(dir, `My Agents ${more.length}${more.at(-1) ?? ''}`);
  const { code, stdout, stderr } = await runHere(['init', project, ...more], {});
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain(`\n  ${installs}\n  ${serves}\nThen,`);
  const files = [`holdfast.config.${language}`, `refund.${language}`, `refund.test.${language}`];
  for (const file of [...files, 'package.json', '.gitignore']) expect(stdout).toContain(`\n  ${file} `);
  expect(existsSync(join(project, 'tsconfig.json'))).toBe(language === 'ts');
  expect(readFileSync(join(project, '.gitignore'), 'utf8')).toContain('.holdfast/\n');
  const own = JSON.parse(pageText('package.json'));
  expect(JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'))).toMatchObject({
    name: expect.stringMatching(/^my-agents-\d/),
    dependencies: { holdfast: `^${own.version}`, zod: own.dependencies.zod ?? own.peerDependencies.zod },
  });
});

it('the package manager is the one that runs it', async () => {
  const asked = ['init', join(dir, 'by-yarn'), '--json'];
  const { stdout } = await runHere(asked, { npm_config_user_agent: 'yarn/1.22.22 npm/? node/v22.0.0 linux x64' });
  expect(JSON.parse(stdout)).toMatchObject({
    kept: [],
    next: {
      here: [/./, 'yarn install', 'yarn holdfast serve'].map((one) =>
        typeof one === 'string' ? one : expect.any(String),
      ),
    },
  });
});

it('keeps what a project has, and writes nothing where its own files are there', async () => {
  const project = join(dir, 'there');
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{}');
  const { stdout } = await runHere(['init', project], {});
  expect(stdout).toContain('was there, and stays as it is');
  expect(stdout).toContain('npm install holdfast @openai/agents zod');
  expect(readFileSync(join(project, 'package.json'), 'utf8')).toBe('{}');
  writeFileSync(join(project, 'package.json'), '{"dependencies": {"holdfast": "file:x.tgz", "zod": "4"}}');
  for (const name of readdirSync(project))
    if (name.startsWith('holdfast') || name.startsWith('refund')) rmSync(join(project, name));
  expect((await runHere(['init', project], {})).stdout).toContain(
    '\n  npm install @openai/agents\n  npx holdfast serve\n',
  );
  const before = readdirSync(project);
  const again = await runHere(['init', project, '--js'], {});
  expect(again).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('holdfast.config.ts') });
  expect(readdirSync(project)).toEqual(before);
});

it('its agent runs without a key, waits for a person, and keeps its data out of git', async () => {
  const project = join(dir, 'runs');
  expect((await runHere(['init', project], {})).code).toBe(0);
  install(project);
  const env = { HOLDFAST_PORT: String(await freePort()) };
  const server = new Program(['serve'], { cwd: project, env });
  try {
    await server.printed(/^agents +cashier$/m);
    const at = { cwd: project, env };
    const run = JSON.parse((await new Program(['run', 'cashier', 'go', '--wait', '--json'], at).ended).stdout);
    expect(run).toMatchObject({ status: 'paused' });
    await new Program(['approve', run.interruptions[0]], at).ended;
    const { stdout } = await new Program(['wait', run.id, '--json'], at).ended;
    expect(JSON.parse(stdout)).toMatchObject({ status: 'completed', output: 'Order 1042 is refunded.' });
    expect(readFileSync(join(project, '.holdfast', '.gitignore'), 'utf8')).toBe('*\n');
  } finally {
    server.child.kill('SIGKILL');
    await server.ended;
  }
}, 240_000);

it.runIf(SLOW).each([['ts'], ['js']])(
  'its test passes, in %s',
  async (language) => {
    const project = join(dir, `tested-${language}`);
    await runHere(['init', project, ...(language === 'js' ? ['--js'] : [])], {});
    install(project);
    const run = (...args: string[]) => spawnSync(process.execPath, args, { cwd: project, encoding: 'utf8' });
    const tested = run('node_modules/vitest/vitest.mjs', 'run');
    expect(tested.status, tested.stdout + tested.stderr).toBe(0);
    const typed = language === 'ts' ? run('node_modules/typescript/bin/tsc') : null;
    expect(typed?.status ?? 0, typed?.stdout).toBe(0);
  },
  300_000,
);

it('a folder without a configuration says so, and offers init', async () => {
  const empty = mkdtempSync(join(dir, 'empty-'));
  const { code, stderr } = await new Program(['serve'], { cwd: empty, env: { HOLDFAST_PORT: '0' } }).ended;
  expect(code).toBe(1);
  expect(stderr).toContain(
    'expected holdfast.config.ts, holdfast.config.mts, holdfast.config.js, holdfast.config.mjs or',
  );
  expect(stderr.split('\n')[1]).toContain('`holdfast init`');
  expect(readdirSync(empty)).toEqual([]);
});
