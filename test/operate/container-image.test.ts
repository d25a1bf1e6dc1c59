import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DOCKER_HOST, describeDockerSlowly, TOOLS } from '../harness/docker.js';

/** deploy/Dockerfile, over an application that installed this package. */

const ROOT = join(import.meta.dirname, '../..');
const IMAGE = `holdfast-test/app:${process.pid}`;
const NAME = `holdfast-test-app-${process.pid}`;
const TOKEN = 'token-of-anna-0123456789';
const exec = promisify(execFile);

const CONFIG = `
import { Agent } from '@openai/agents';
import { defineAgent, defineConfig, defineTool } from 'holdfast';
import { call, say, scriptedModel } from 'holdfast/testing';
import { z } from 'zod';
const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', approval: true, input: z.object({}), output: z.string() },
  execute: () => 'paid',
});
const model = scriptedModel([[call('pay', {})], [say('Done.')]]);
const agent = new Agent({ name: 'payer', model, tools: [pay] });
export default defineConfig({ agents: [defineAgent({ agent, grants: ['tool:call:pay'] })] });
`;

/** What `npm ci --omit=dev` makes in a folder: the package and what it needs, taken from here. */
async function application(folder: string): Promise<void> {
  const { stdout } = await exec('npm', ['ls', '--omit=dev', '--parseable', '--all'], { cwd: ROOT }).catch(
    (error: { stdout: string }) => error,
  );
  for (const path of stdout.trim().split('\n').slice(1)) {
    const to = join(folder, relative(ROOT, path));
    mkdirSync(dirname(to), { recursive: true });
    cpSync(path, to, { recursive: true });
  }
  const own = join(folder, 'node_modules/holdfast');
  for (const name of ['lib', 'src', 'steps', 'workflows', 'migrations', 'console'])
    cpSync(join(ROOT, 'dist', name), join(own, 'dist', name), { recursive: true });
  for (const name of ['package.json', 'src/containers/seccomp.json']) cpSync(join(ROOT, name), join(own, name));
  writeFileSync(join(folder, 'package.json'), '{ "name": "app", "private": true, "type": "module" }');
  writeFileSync(join(folder, 'holdfast.config.mjs'), CONFIG);
}

describeDockerSlowly('the image of an application', () => {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-image-'));
  const docker = async (...args: string[]): Promise<string> =>
    (await exec('docker', ['--host', DOCKER_HOST, ...args], { maxBuffer: 16 * 1024 * 1024 })).stdout.trim();
  const program = ['node', 'node_modules/holdfast/dist/lib/main.js'];
  const holdfast = (...args: string[]): Promise<string> =>
    docker('exec', '--env', `HOLDFAST_TOKEN=${TOKEN}`, NAME, ...program, ...args);
  const health = (): Promise<string> => docker('inspect', '--format', '{{.State.Health.Status}}', NAME);

  beforeAll(async () => {
    await application(home);
    await docker(
      'build',
      '--file',
      join(ROOT, 'deploy/Dockerfile'),
      '--build-arg',
      `BASE=${TOOLS}`,
      '--tag',
      IMAGE,
      home,
    );
    const tokens = JSON.stringify([{ token: TOKEN, actor: 'anna', role: 'admin', tenant: 'default' }]);
    const bounds = ['--read-only', '--tmpfs', '/tmp', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];
    await docker('run', '--detach', '--init', '--name', NAME, ...bounds, '--env', `HOLDFAST_TOKENS=${tokens}`, IMAGE);
  }, 600_000);
  afterAll(async () => {
    await docker('rm', '--force', '--volumes', NAME).catch(() => undefined);
    await docker('rmi', IMAGE).catch(() => undefined);
    rmSync(home, { recursive: true, force: true });
  });

  test('serves as a user that is not root, on a read-only file system, and says when it is well', async () => {
    await expect.poll(health, { timeout: 120_000, interval: 1000 }).toBe('healthy');
    expect(await docker('exec', NAME, 'node', '-p', 'process.getuid()')).toBe('10001');
    expect(await docker('exec', NAME, 'ls', '-ld', '/app/node_modules')).toMatch(/^drwxr-xr-x \d+ root root /);
  }, 150_000);

  test('keeps a paused run over kill -9, and ends with 0 when it is asked to stop', async () => {
    await expect.poll(() => holdfast('run', 'payer', 'go').catch(String), { timeout: 120_000 }).toMatch(/^run run_/);
    const paused = async (): Promise<string> => holdfast('runs', '--status', 'paused').catch(String);
    await expect.poll(paused, { timeout: 60_000, interval: 1000 }).toContain('payer');
    await docker('kill', '--signal', 'KILL', NAME);
    await docker('start', NAME);
    await expect.poll(paused, { timeout: 120_000, interval: 1000 }).toContain('payer');
    await docker('stop', '--time', '40', NAME);
    expect(await docker('inspect', '--format', '{{.State.ExitCode}}', NAME)).toBe('0');
  }, 300_000);
});

test('the Dockerfile starts the program that the package has as its bin', () => {
  const { bin } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  for (const file of ['deploy/Dockerfile', 'deploy/holdfast.service'])
    expect(readFileSync(join(ROOT, file), 'utf8')).toContain(`node_modules/holdfast/${bin.holdfast}`);
});
