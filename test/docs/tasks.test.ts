import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { taskDefinition } from '../../src/core/tasks/task-definition.js';
import { runHere } from '../cli/in-process.js';
import { names, pages, pageText, section } from './pages.js';

/** The pages whose commands need no server. */
const asking = ['artifacts', 'batches', 'benchmarks', 'pass-rates', 'quality', 'registry', 'rewards', 'validate'].map(
  (name) => `docs/tasks/${name}.md`,
);
const local = pages('docs/tasks').filter((page) => !asking.includes(page));
const text = local.sort().map(pageText).join('\n');
const before = process.cwd();
let dir = '';
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-tasks-page-'));
  process.chdir(dir);
});
afterAll(() => {
  process.chdir(before);
  rmSync(dir, { recursive: true });
});

it('docs/tasks/definition.md has every field of a definition, and no other', () => {
  expect(names(section(pageText('docs/tasks/definition.md'), '## Fields'))).toEqual(Object.keys(taskDefinition.shape));
});

it('the commands of the pages on tasks succeed, in their order', async () => {
  // What asks a server is in docs/cli.md and docs/http.md.
  const here = text.replace(section(text, '## Execute a task'), '');
  const lines = [...here.matchAll(/^```sh\n([\s\S]*?)^```/gm)].flatMap(([, block = '']) => block.trim().split('\n'));
  expect(lines.length).toBeGreaterThan(1);
  for (const line of lines) {
    const [program, ...args] = line.split(' ');
    expect(program).toBe('holdfast');
    expect(await runHere(args, {}), line).toMatchObject({ code: 0, stderr: expect.stringMatching(/^(note .*\n)*$/) });
  }
});

it('each definition on the pages on tasks is valid', async () => {
  const definitions = [...text.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(([, text = '']) => text);
  expect(definitions.length).toBeGreaterThan(0);
  for (const [index, text] of definitions.entries()) {
    writeFileSync(`${index}.yaml`, text);
    expect(await runHere(['task', 'check', `${index}.yaml`], {})).toMatchObject({ code: 0, stderr: '' });
  }
});
