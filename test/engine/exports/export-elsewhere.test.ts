import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeEachDatabase } from '../../harness/database.js';
import { echoAgent } from '../../harness/echo-agent.js';
import { ADMIN, engineFor, runToRest } from '../../harness/engine.js';
import { SLOW } from '../../harness/slow.js';

describeEachDatabase('an export that another process writes', (kind) => {
  const t = engineFor(kind, { agents: [echoAgent('hello')] });
  let dir = '';
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'holdfast-export-'));
  });
  afterAll(() => rmSync(dir, { recursive: true }));

  it.runIf(SLOW)('says the folder of the process that wrote it', async () => {
    await runToRest(t.engine, 'echo', 'hello');
    await t.restart({ role: 'api', exportDir: join(dir, 'api') });
    const { id } = await t.engine.startExport({ format: 'messages', to: { folder: 'one' } }, ADMIN);
    await t.restart({ role: 'all', exportDir: join(dir, 'worker') });
    await expect.poll(async () => (await t.engine.getExport(id, ADMIN)).status, { timeout: 20_000 }).toBe('completed');
    const { folder } = await t.engine.getExport(id, ADMIN);
    expect(folder).toBe(join(dir, 'worker', 'default', 'one'));
    expect(existsSync(join(folder, 'manifest.json'))).toBe(true);
  });
});
