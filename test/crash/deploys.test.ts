import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { newerBuild } from '../harness/newer-build.js';
import { crashMatrix } from './crash-matrix.js';

let newer = '';
beforeAll(async () => {
  newer = await newerBuild('test/crash/child.js');
});
afterAll(() => rmSync(newer, { recursive: true, force: true }));

// The server of the scenario `mcp` does not know the ids of calls, so that no one could tell what happened under which.
for (const scenario of ['tools', 'agents', 'decisions', 'waits', 'family'] as const)
  crashMatrix(scenario, () => join(newer, 'dist/test/crash/child.js'));
