import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { loadConfig } from '../../src/cli/load-config.js';
import { registerAgents } from '../../src/engine/agents/agent-registry.js';
import { SLOW } from '../harness/slow.js';
import { pages, ROOT } from './pages.js';
import { exampleFolder, wholeExamples, writeExample } from './whole-examples.js';

/** Whole examples are type-checked, and their configurations are loaded. */

const { path: dir, remove } = exampleFolder();
afterAll(remove);

const examples = pages()
  .flatMap(wholeExamples)
  .map((example) => ({ ...example, path: writeExample(dir, example) }));

it('there are examples, and each has a file of its own', () => {
  expect(examples.length).toBeGreaterThan(2);
  expect(new Set(examples.map(({ path }) => path)).size).toBe(examples.length);
});

it.runIf(SLOW)('they compile against the types that are built', () => {
  const config = join(dir, 'tsconfig.json');
  const up = relative(dir, ROOT);
  const paths = {
    holdfast: [`${up}/dist/src/index.d.ts`],
    'holdfast/demo': [`${up}/dist/src/demo/config.d.ts`],
    'holdfast/router': [`${up}/dist/src/http/router.d.ts`],
    'holdfast/models': [`${up}/dist/src/library/models.d.ts`],
    'holdfast/sdk': [`${up}/dist/src/library/sdk.d.ts`],
    'holdfast/testing': [`${up}/dist/src/library/testing.d.ts`],
    'holdfast/tools': [`${up}/dist/src/library/tools.d.ts`],
  };
  const compilerOptions = { paths, noEmit: true, types: ['node'], typeRoots: [`${up}/node_modules/@types`] };
  writeFileSync(config, JSON.stringify({ extends: `${up}/tsconfig.json`, compilerOptions, include: ['.'] }));
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const { stdout, error } = spawnSync(process.execPath, [tsc, '-p', config, '--pretty', 'false'], {
    cwd: dir,
    encoding: 'utf8',
  });
  expect(error).toBeUndefined();
  expect(stdout.split('\n').filter((line) => line !== '')).toEqual([]);
});

it('every configuration is one', async () => {
  const configs = examples.filter(({ file }) => basename(file) === 'holdfast.config.ts');
  expect(configs.length).toBeGreaterThan(1);
  for (const { path } of configs) {
    const config = await loadConfig(path, {
      holdfast: await import('../../src/index.js'),
      'holdfast/models': await import('../../src/library/models.js'),
      'holdfast/tools': await import('../../src/library/tools.js'),
    });
    expect(registerAgents(config).size).toBeGreaterThan(0);
  }
});
