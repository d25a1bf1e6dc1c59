import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { taskDefinition } from '../../src/core/tasks/task-definition.js';
import { runHere } from '../cli/in-process.js';
import { names, pageText, section } from './pages.js';

const page = pageText('docs/tasks.md');
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

it('docs/tasks.md has every field of a definition, and no other', () => {
  expect(names(section(page, '## A definition'))).toEqual(Object.keys(taskDefinition.shape));
});

it('the commands of docs/tasks.md do what they say, in their order', async () => {
  // What asks a server is in docs/cli.md and docs/http.md.
  const here = page.replace(section(page, '## Executing one'), '');
  const lines = [...here.matchAll(/^```sh\n([\s\S]*?)^```/gm)].flatMap(([, block = '']) => block.trim().split('\n'));
  expect(lines.length).toBeGreaterThan(1);
  for (const line of lines) {
    const [program, ...args] = line.split(' ');
    expect(program).toBe('holdfast');
    expect(await runHere(args, {}), line).toMatchObject({ code: 0, stderr: expect.stringMatching(/^(note .*\n)*$/) });
  }
});

it('each definition of docs/tasks.md is one', async () => {
  const definitions = [...page.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(([, text = '']) => text);
  expect(definitions.length).toBeGreaterThan(0);
  for (const [index, text] of definitions.entries()) {
    writeFileSync(`${index}.yaml`, text);
    expect(await runHere(['task', 'check', `${index}.yaml`], {})).toMatchObject({ code: 0, stderr: '' });
  }
});
