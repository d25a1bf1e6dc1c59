import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { SLOW } from './harness/slow.js';

/** What is installed, and what says so. */

const ROOT = join(import.meta.dirname, '..');
const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

const lock = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string(),
      integrity: z.string().optional(),
      resolved: z.string().optional(),
      dev: z.boolean().optional(),
      hasInstallScript: z.boolean().optional(),
    }),
  ),
});
const { packages } = lock.parse(JSON.parse(textOf('package-lock.json')));
const installed = Object.entries(packages).filter(([path]) => path !== '');
const nameOf = (path: string): string => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

test('each package of the lock file has a digest, and none an address', () => {
  expect(installed.length).toBeGreaterThan(100);
  expect(installed.filter(([, { integrity }]) => !/^sha512-/.test(integrity ?? '')).map(([path]) => path)).toEqual([]);
  expect(installed.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path)).toEqual([]);
});

test('no package runs a program when it is installed', () => {
  const { allowScripts } = z
    .object({ allowScripts: z.record(z.string(), z.literal(false)) })
    .parse(JSON.parse(textOf('package.json')));
  const run = installed.filter(([, { hasInstallScript }]) => hasInstallScript === true).map(([path]) => nameOf(path));
  expect(Object.keys(allowScripts)).toEqual([...new Set(run)].sort());
});

test('packing runs the script that builds', () => {
  expect(textOf('.npmrc')).not.toMatch(/ignore-scripts/);
});

const bom = z.object({
  bomFormat: z.literal('CycloneDX'),
  metadata: z.object({ component: z.object({ purl: z.string() }) }),
  components: z.array(
    z.object({
      name: z.string(),
      version: z.string(),
      purl: z.string(),
      hashes: z.array(z.object({ alg: z.string() })),
    }),
  ),
});

test.runIf(SLOW)('npm run sbom lists every package that is shipped, with its digest', async () => {
  const run = promisify(execFile);
  const { stdout } = await run('npm', ['run', '--silent', 'sbom'], { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 });
  const { metadata, components } = bom.parse(JSON.parse(stdout));
  expect(metadata.component.purl).toBe('pkg:npm/holdfast@0.1.0');
  const listed = components.map(({ name, version }) => `${name}@${version}`);
  const shipped = installed
    .filter(([, { dev }]) => dev !== true)
    .map(([path, { version }]) => `${nameOf(path)}@${version}`);
  expect(shipped.filter((one) => !listed.includes(one))).toEqual([]);
  expect(components.filter(({ hashes }) => !hashes.some(({ alg }) => alg === 'SHA-512'))).toEqual([]);
});
