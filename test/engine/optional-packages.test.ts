import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CONTAINER_PACKAGE, MEMORY_PACKAGE } from '../../src/core/optional-package.js';
import { bareInstallation } from '../harness/without-packages.js';

const bare = bareInstallation();

const PROGRAM = `
import { Agent } from '@openai/agents';
import { createEngine, defineAgent, functionModel, memorySpace, LOCAL_CALLER } from './dist/src/index.js';
const said = { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'hello' }] };
const agent = new Agent({ name: 'speaker', model: functionModel('speaker', () => [said]) });
const declared = {
  plain: {},
  containers: { environment: { image: 'busybox' } },
  memory: { memory: [memorySpace({ name: 'notes', scope: 'user' })] },
}[process.argv[2]];
try {
  const engine = await createEngine({ agents: [defineAgent({ agent, grants: [], ...declared })], dataDir: 'data-' + process.argv[2] });
  const { id } = await engine.startRun({ agent: 'speaker', input: 'hi' }, LOCAL_CALLER);
  console.log((await engine.getRun(id, LOCAL_CALLER, { waitMs: 30_000 })).output);
  await engine.stop();
} catch ({ code, message, hint }) {
  console.log(JSON.stringify({ code, message, hint }));
}
process.exit();
`;

it.each([
  { what: 'containers', wanted: CONTAINER_PACKAGE, message: 'Containers need the package dockerode' },
  { what: 'memory', wanted: MEMORY_PACKAGE, message: 'Memory needs the package loro-crdt' },
])('an engine with $what says which package is missing and how it is installed', async ({ what, wanted, message }) => {
  bare.install([wanted.name]);
  expect(JSON.parse(await bare.printed(PROGRAM, what))).toEqual({
    code: 'package_missing',
    message: `${message}, which is not installed.`,
    hint: `Run \`npm install ${wanted.name}@${wanted.version}\`.`,
  });
});

it('an engine without containers and memory needs neither package', async () => {
  bare.install([CONTAINER_PACKAGE.name, MEMORY_PACKAGE.name]);
  expect(await bare.printed(PROGRAM, 'plain')).toBe('hello\n');
});

it('the versions that are named are those of the tests', () => {
  const { devDependencies } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'));
  for (const { name, version } of [CONTAINER_PACKAGE, MEMORY_PACKAGE]) expect(devDependencies[name]).toBe(version);
});
